#pragma once
// A question as a card: what is asked, the answer, the runs that it takes, what came of it.
#include <string>
#include <vector>

#include "state/state.h"

namespace isobar {

/// Where the questions of earlier lessons are asked once more.
inline constexpr const char* kOpeningPlace = "opening";
/// As a beat of the lesson that was opened with this question.
std::string opening_mark(const std::string& id);

/// One card for several questions, by id, with a way from one to the next; `place` tells it from others of
/// the lesson.
Requests draw_cards(Ui& ui, const Data& data, AppState& state, const std::string& place,
                    const std::vector<std::string>& ids);

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

}  // namespace isobar
