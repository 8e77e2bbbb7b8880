#pragma once
// What a lesson's page is made of: how far it is, its pages, its questions as cards, measurements, the
// exercise.
#include <optional>
#include <string>
#include <vector>

#include "draw/sketch.h"
#include "state/state.h"

namespace isobar {

/// Null where nothing is known yet.
const LessonProgress* progress_of(const Data& data, const std::string& lesson);

/// Whether all questions of all goals were revealed.
bool is_revealed(const LessonProgress& progress);

/// The parts of a lesson in a row, each with what is done; the index of the one that was clicked.
std::optional<std::size_t> draw_part_strip(Ui& ui, const LessonProgress& progress, std::size_t shown);

/// Small squares, one a part: what of it is done. `at` is the right end.
void paint_parts(Canvas& canvas, const Theme& theme, const LessonProgress& progress, PlotPoint at);

/// "2 of 4 goals; 5 questions to try again".
std::string goals_text(const LessonProgress& progress);

/// A box at the cursor, before a line of text, that shows whether it holds.
Box draw_check(Ui& ui, CheckMark mark);

/// The goals of a lesson; those that were earned are ticked.
void draw_goals(Ui& ui, const LessonCard& card, const LessonProgress& progress);

/// A drawing as wide as there is room, named for tests.
void draw_drawing(Ui& ui, const std::string& name, const Drawing& drawing);

/// Markdown: blocks from top to bottom, parts that fold, code to copy, pictures that are drawn. Links and
/// pictures are those of the page of this lesson.
void draw_page(Ui& ui, const std::string& lesson, const std::vector<MarkdownBlock>& blocks, AppState& state,
               Requests& ask);

/// Where the questions of earlier lessons are asked once more.
inline constexpr const char* kOpeningPlace = "opening";
/// The name under which progress keeps an opening with this question.
std::string opening_mark(const std::string& id);
/// The name of its card there: its own one stays as it is.
std::string opening_card(const std::string& lesson, const std::string& id);

/// One card for several questions, by id, with a way from one to the next: what is asked, the answer, the
/// runs that it takes, what came of it; `place` distinguishes the card from others of the lesson.
void draw_cards(Ui& ui, const Data& data, AppState& state, const std::string& place,
                const std::vector<std::string>& ids, Requests& ask);

/// What the learner may answer with: the field, the choices, the drawn curves. Only while the question is
/// open.
void draw_answer_field(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                       Requests& ask);

/// The answer that stands on the card. Error (exit code 2) in a sentence where it is none.
Answer answer_on_card(const Data& data, const AppState& state, const Question& question,
                      const CardState& card);

/// What came of an answer: the prediction beside what is true, where a wrong one usually comes from, and the
/// plots that show it.
void draw_result(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                 Requests& ask);

/// The unit of a number, as it stands behind it: "times" for x.
std::string unit_words(const Question& question);

/// A run of `quiz ID --runs-only`.
RunRequest runs_request(const Question& question);

/// How near the learner's numbers came, beside those of the formulas.
void draw_calibration(Ui& ui, const Data& data);

/// Measurements of several runs, started from the lesson as a terminal would.
void draw_measure(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask);

/// The part that the learner writes: text, state of each check, the report of the first one that does not
/// hold, and buttons: put in place, check, one hint more, what was changed, open in the editor.
void draw_exercise(Ui& ui, const Data& data, const std::string& lesson, Requests& ask);

/// Stops of the tour through the code as links; nothing where the lesson has no tour.
void draw_tour(Ui& ui, const Data& data, AppState& state, Requests& ask);

}  // namespace isobar
