#include <algorithm>

#include "core/find.h"
#include "core/text.h"
#include "course/variant.h"
#include "panels/lesson_parts.h"
#include "panels/views.h"
#include "widgets/paragraph.h"

namespace isobar {
namespace {

using Ids = std::vector<std::string>;

/// What to try: words, then the commands that end the sentence, one a line; none where it ends otherwise.
std::pair<std::string, std::string> words_and_commands(const std::string& sentence) {
  const std::size_t at = sentence.find("./isobar ");
  if (at == std::string::npos || sentence.find(": ", at) != std::string::npos) return {sentence, ""};
  std::string commands = sentence.substr(at);
  if (commands.ends_with('.')) commands.pop_back();
  constexpr std::string_view kThen = " and then ";
  for (std::size_t then; (then = commands.find(kThen)) != std::string::npos;)
    commands.replace(then, kThen.size(), "\n");
  return {std::string(trimmed(sentence.substr(0, at))), commands};
}

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

  void draw(const LessonPart& part) {
    if (part.kind == PartKind::read) return read();
    part.kind == PartKind::goal ? goal(part) : build();
  }

 private:
  const std::string& lesson() const { return card_.info.name; }

  const LessonForm& form() const {
    static const LessonForm kNone;
    const LessonForm* const found = find_in(data_.course->forms, lesson());
    return found == nullptr ? kNone : *found;
  }

  const LessonForm::Goal& form_of(int number) const {
    static const LessonForm::Goal kNone;
    const auto index = static_cast<std::size_t>(number - 1);
    return index < form().goals.size() ? form().goals[index] : kNone;
  }

  const std::vector<Question>& of_lesson() const { return data_.course->of_lesson(lesson()); }

  /// Pieces of the page, by title.
  template <class Condition>
  void pieces(Condition is_shown) {
    for (const LessonPage::Piece& piece : card_.readme.pieces) {
      if (is_shown(piece.title)) page(piece.blocks);
    }
  }

  void page(const std::vector<MarkdownBlock>& blocks) { draw_page(ui_, lesson(), blocks, state_, ask_); }

  void cards(const std::string& place, const Ids& ids) {
    draw_cards(ui_, data_, state_, place, ids, ask_);
    ui_.gap(4);
  }

  /// A button that leads to the part behind this one.
  void go_on(const LessonPart& from, bool primary) {
    const auto index = static_cast<std::size_t>(&from - progress_.parts.data()) + 1;
    if (index >= progress_.parts.size()) return;
    const std::string next = progress_.parts[index].name();
    if (ui_.button("On to " + next, primary ? ButtonKind::primary : ButtonKind::plain, true, "on to " + next))
      state_.course.parts[lesson()] = index;
  }

  /// Questions of earlier lessons that were read, and were not gone over here yet.
  Ids opening_ids() const {
    Ids out = form().opens_with;
    std::erase_if(out, [&](const std::string& id) {
      const Question* const question = data_.course->question(id);
      const CourseProgress& progress = data_.course->progress;
      if (question == nullptr || !progress.has_done(question->lesson, "read") ||
          progress.has_done(lesson(), opening_mark(id)))
        return true;
      // Nothing is left of it to ask; one that was answered here stays until it is left.
      return data_.course->of(id)->state == QuestionState::revealed && !has_new(*question, progress) &&
             !state_.course.cards.contains(opening_card(lesson(), id));
    });
    return out;
  }

  void read() {
    if (const Ids ids = opening_ids(); !ids.empty()) {
      ui_.text("First, from earlier lessons", Face::bold);
      cards(kOpeningPlace, ids);
    }
    const auto is_of_goal = [&](const std::string& title) {
      return std::ranges::any_of(form().goals, [&](const LessonForm::Goal& goal) {
        return holds(goal.reads, title) || holds(goal.closes, title);
      });
    };
    pieces([&](const std::string& title) { return !is_of_goal(title); });
    if (card_.readme.pieces.empty()) ui_.dim("This lesson has no README yet.");
    draw_goals(ui_, card_, progress_);
    ui_.gap(4);
    const LessonPart& part = progress_.parts.front();
    if (part.done) {
      go_on(part, false);
    } else if (ui_.button("I have read it", ButtonKind::primary, data_.course->may_write)) {
      ask_.course = done_request(lesson(), part.name());
      state_.course.parts[lesson()] = 1;
    }
    draw_tour(ui_, data_, state_, ask_);
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

  /// The idea once more, with the values of the chosen run.
  void own_picture() {
    const auto run = data_.feed.runs->find(state_.run);
    const auto& own = data_.course->own;
    if (!run || run->view.lesson != lesson() || data_.course->own_run != run->folder || !own) return;
    ui_.gap(4);
    ui_.text("From your run", Face::bold);
    ui_.record("from your run");
    if (!own->nothing.empty()) return ui_.note(own->nothing + (own->hint.empty() ? "" : ": " + own->hint));
    draw_drawing(ui_, "own picture", own->drawing);
  }

  void led_by(const char* word, const std::string& sentence) {
    std::vector<TextSpan> spans = sentence_spans(sentence);
    spans.insert(spans.begin(), TextSpan{.text = std::string(word) + ": ", .bold = true});
    show_spans(ui_, spans, 0, false);
  }

  /// One thing to notice, one to try: its commands can be copied.
  void closing(const LessonForm::Goal& told) {
    if (!told.notice.empty()) led_by("Notice", told.notice);
    if (told.next.empty()) return;
    const auto [words, commands] = words_and_commands(told.next);
    led_by("Try", words);
    if (commands.empty()) return;
    MarkdownBlock block;
    block.kind = MarkdownBlock::Kind::code;
    block.code = commands;
    page({block});
  }

  /// What it takes to earn it, once all was revealed.
  void standing(const GoalState& goal) {
    ui_.gap(2);
    draw_check(ui_, goal.earned ? CheckMark::held : CheckMark::open);
    ImGui::Indent(ui_.px(26));
    ui_.text(goal.earned ? "This goal is earned." : "This goal is not earned yet.", Face::bold);
    ui_.record(goal.earned ? "goal earned" : "goal not earned");
    if (goal.waits)
      ui_.note("Its numbers wait for runs on a quiet machine: ./isobar quiz --when-quiet makes them.");
    if (!goal.again.empty()) ui_.note("Ask again on a card: right answers to something new earn it.");
    ImGui::Unindent(ui_.px(26));
    ui_.gap(2);
  }

  void goal(const LessonPart& part) {
    const auto index = static_cast<std::size_t>(part.goal - 1);
    const LessonForm::Goal& told = form_of(part.goal);
    ui_.wrapped(card_.info.goals.at(index), Face::bold, ui_.theme().text);
    ui_.gap(2);
    pieces([&](const std::string& title) { return holds(told.reads, title); });
    Ids ids;
    for (const Question& question : questions_of(of_lesson(), part.goal)) ids.push_back(question.id);
    if (ids.empty()) ui_.dim("This goal has no question.");
    cards(part.name(), ids);
    make_all();
    if (part.done && !ids.empty()) {
      pieces([&](const std::string& title) { return holds(told.closes, title); });
      own_picture();  // which may answer what is still asked
      closing(told);
      standing(progress_.goals.at(index));
    }
    go_on(part, part.done);
  }

  void build() {
    draw_exercise(ui_, data_, lesson(), ask_);
    draw_measure(ui_, data_, card_, state_, ask_);
    page(card_.readme.build);
    if (is_revealed(progress_)) {
      page(card_.reveal_rest);
    } else if (!card_.reveal_rest.empty()) {
      ui_.gap(4);
      ui_.note("Further measurements are shown once every question is revealed.");
    }
    draw_goals(ui_, card_, progress_);
    draw_calibration(ui_, data_);
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
  if (progress == nullptr) {
    for (const LessonPage::Piece& piece : card->readme.pieces)
      draw_page(ui, card->info.name, piece.blocks, state, ask);
    return;
  }
  const std::size_t* const chosen = find_in(state.course.parts, state.lesson);
  const std::size_t last = progress->parts.size() - 1;
  const std::size_t shown = std::min(chosen != nullptr ? *chosen : progress->next.value_or(last), last);
  if (const std::optional<std::size_t> clicked = draw_part_strip(ui, *progress, shown))
    state.course.parts[state.lesson] = *clicked;
  ImGui::BeginChild((state.lesson + " " + progress->parts[shown].name()).c_str());
  LessonFlow(ui, data, *card, *progress, state, ask).draw(progress->parts[shown]);
  ImGui::EndChild();
}

}  // namespace isobar
