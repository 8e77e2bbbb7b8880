#include <algorithm>

#include "core/find.h"
#include "core/text.h"
#include "panels/lesson_parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

using Ids = std::vector<std::string>;

bool is_of_break(const Question& question) { return question.beat == "break"; }

/// What keeps the learner from going on, or may.
void draw_problems(Ui& ui, const Data& data, const LessonCard& card) {
  if (!card.cannot_run.empty()) ui.warning(card.info.name + " " + card.cannot_run);
  if (!data.course->progress_problem.empty()) {
    ui.warning(data.course->progress_problem);
    ui.record("progress problem");
  }
  if (const std::string* const problem = find_in(data.course->problems, card.info.name)) {
    ui.problem("Its questions cannot be read: " + *problem);
    ui.record("questions problem");
  }
}

class LessonFlow {
 public:
  LessonFlow(Ui& ui, const Data& data, const LessonCard& card, const LessonProgress& progress,
             AppState& state, Requests& ask)
      : ui_(ui), data_(data), card_(card), progress_(progress), state_(state), ask_(ask) {}

  void draw(Beat beat) {
    static constexpr std::array<void (LessonFlow::*)(), kBeats> kBeatParts = {
        &LessonFlow::read,   &LessonFlow::predict,  &LessonFlow::run,
        &LessonFlow::reveal, &LessonFlow::breaking, &LessonFlow::build};
    (this->*kBeatParts[static_cast<std::size_t>(beat)])();
  }

 private:
  const std::string& lesson() const { return card_.info.name; }

  /// The questions of the lesson for which the condition holds, by id.
  template <class Condition>
  Ids ids(Condition is_wanted) const {
    Ids out;
    for (const Question& question : data_.course->questions) {
      if (question.lesson == lesson() && is_wanted(question, data_.course->of(question.id)->state))
        out.push_back(question.id);
    }
    return out;
  }

  void page(Beat beat) { draw_page(ui_, lesson(), card_.readme.of(beat), state_, ask_); }

  void cards(const char* place, const Ids& ids) {
    draw_cards(ui_, data_, state_, place, ids, ask_);
    ui_.gap(4);
  }

  /// A button that leads on; a beat that is read is done with it.
  void go_on(const char* words, Beat next, bool primary) {
    if (ui_.button(words, primary ? ButtonKind::primary : ButtonKind::plain, true,
                   std::string("on to ") + beat_name(next)))
      state_.course.beats[lesson()] = next;
  }

  /// Questions of earlier lessons that were not gone over here yet.
  Ids opening_ids() const {
    const Ids* const opening = find_in(data_.course->openings, lesson());
    Ids out = opening == nullptr ? Ids() : *opening;
    std::erase_if(out, [&](auto& id) { return data_.course->progress.has_beat(lesson(), opening_mark(id)); });
    return out;
  }

  void read() {
    if (const Ids ids = opening_ids(); !ids.empty()) {
      ui_.text("First, from earlier lessons", Face::bold);
      cards(kOpeningPlace, ids);
    }
    page(Beat::read);
    if (card_.readme.of(Beat::read).empty()) ui_.dim("This lesson has no README yet.");
    ui_.gap(4);
    if (is_done(progress_, Beat::read)) {
      go_on("On to the questions", Beat::predict, false);
    } else if (ui_.button("I have read it", ButtonKind::primary, data_.course->may_write)) {
      ask_.course = beat_request(lesson(), beat_name(Beat::read));
      state_.course.beats[lesson()] = Beat::predict;
    }
    draw_tour(ui_, data_, state_, ask_);
    draw_goals(ui_, card_, progress_);
  }

  void predict() {
    const Ids all = ids([](auto& question, auto) { return !is_of_break(question); });
    if (all.empty()) ui_.dim("This lesson asks nothing here.");
    cards("predict", all);
    page(Beat::predict);
    const bool answered = std::ranges::all_of(
        all, [&](const std::string& id) { return data_.course->of(id)->state != QuestionState::open; });
    if (answered) go_on("On to the runs", Beat::run, false);
  }

  /// The runs of all answers, one question after the other.
  void make_all() {
    const WaitingQuestions* const waiting = find_in(data_.course->waiting, lesson());
    if (waiting == nullptr || waiting->ids.size() < 2) return;
    if (ui_.button("Make the runs of all", ButtonKind::plain, !data_.starting)) {
      for (const std::string& id : waiting->ids)
        ask_.queue.push_back(runs_request(*data_.course->question(id)));
    }
    const std::size_t queued = data_.starting ? data_.queued : 0;
    ui_.beside(10).framed().dim(queued > 0
                                    ? counted(static_cast<std::int64_t>(queued), "question") + " to follow"
                                    : counted(std::ssize(waiting->ids), "question") + ", about " +
                                          about_seconds(waiting->cost_s));
    ui_.gap(4);
  }

  void run() {
    const Ids answered = ids([](auto& question, QuestionState state) {
      return !is_of_break(question) && state != QuestionState::open;
    });
    if (answered.empty()) {
      ui_.wrapped("No prediction yet: first say what you expect.", Face::text, ui_.theme().dim);
      go_on("To the questions", Beat::predict, true);
    }
    cards("run", answered);
    make_all();
    page(Beat::run);
    draw_measure(ui_, data_, card_, state_, ask_);
  }

  /// The idea once more, with the values of the chosen run.
  void own_picture() {
    const auto run = data_.feed.runs->find(state_.run);
    const auto& own = data_.course->own;
    if (!run || run->view.lesson != lesson() || data_.course->own_run != run->folder || !own) return;
    ui_.gap(4);
    ui_.text("From your run", Face::bold);
    if (!own->nothing.empty()) return ui_.note(own->nothing + (own->hint.empty() ? "" : ": " + own->hint));
    draw_drawing(ui_, "own picture", own->drawing);
  }

  void reveal() {
    const Ids revealed = ids([](auto&, QuestionState state) { return state == QuestionState::revealed; });
    const Ids open = ids([](auto& question, QuestionState state) {
      return !is_of_break(question) && state == QuestionState::open;
    });
    if (revealed.empty())
      ui_.wrapped(
          "Nothing has been revealed yet. A question is revealed once you have committed to an answer and "
          "its runs exist.",
          Face::text, ui_.theme().dim);
    cards("reveal", revealed);
    if (open.empty()) {
      draw_page(ui_, lesson(), card_.reveal_rest, state_, ask_);
    } else if (!card_.reveal_rest.empty()) {
      ui_.dim("Further measurements are shown once every question is answered.");
    }
    own_picture();
    draw_goals(ui_, card_, progress_);
    draw_calibration(ui_, data_);
    go_on("Continue to Break", Beat::breaking, false);
  }

  void breaking() {
    const Ids all = ids([](auto& question, auto) { return is_of_break(question); });
    if (all.empty()) ui_.dim("This lesson asks nothing here.");
    cards("break", all);
    page(Beat::breaking);
    if (data_.course->exercises.contains(lesson())) go_on("Continue to Build", Beat::build, false);
  }

  void build() {
    page(Beat::build);
    draw_exercise(ui_, data_, lesson(), ask_);
  }

  Ui& ui_;
  const Data& data_;
  const LessonCard& card_;
  const LessonProgress& progress_;
  AppState& state_;
  Requests& ask_;
};

}  // namespace

void draw_lesson_page(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const LessonCard* const card = data.project.find(state.lesson);
  state.course.question.clear();
  state.code.asked.clear();
  if (card == nullptr) return ui.nothing("No lesson", "Choose one on the left.");
  draw_problems(ui, data, *card);
  const LessonProgress* const progress = progress_of(data, card->info.name);
  if (progress == nullptr) return draw_page(ui, card->info.name, card->readme.of(Beat::read), state, ask);
  const Beat* const chosen = find_in(state.course.beats, state.lesson);
  const Beat shown = chosen != nullptr ? *chosen : progress->next.value_or(Beat::read);
  if (const std::optional<Beat> clicked = draw_beat_strip(ui, *progress, shown))
    state.course.beats[state.lesson] = *clicked;
  ImGui::BeginChild((state.lesson + " " + beat_name(shown)).c_str());
  LessonFlow(ui, data, *card, *progress, state, ask).draw(shown);
  ImGui::EndChild();
}

}  // namespace isobar
