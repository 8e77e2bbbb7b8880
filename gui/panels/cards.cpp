#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "panels/lesson_parts.h"
#include "widgets/places.h"

namespace isobar {
namespace {

/// The first that is not done with, else the first.
std::string first_to_do(const Data& data, const std::vector<std::string>& ids) {
  const std::string* const found = find_where(
      ids, [&](const std::string& id) { return data.course->of(id)->state != QuestionState::revealed; });
  return found == nullptr ? ids.front() : *found;
}

void draw_pager(Ui& ui, const std::vector<std::string>& ids, std::string& shown) {
  const auto at = static_cast<std::size_t>(std::ranges::find(ids, shown) - ids.begin());
  const std::string words = fmt::format("{} of {}", at + 1, ids.size());
  const float button = ui.button_width("<");
  const float right = ImGui::GetContentRegionMax().x;
  ui.at_x(right - 2 * button - ui.canvas().text_width(words, Face::small) - ui.px(12)).framed().dim(words);
  if (ui.at_x(right - 2 * button - ui.px(4)).button("<", ButtonKind::quiet, at > 0, "previous question"))
    shown = ids[at - 1];
  if (ui.beside(4).button(">", ButtonKind::quiet, at + 1 < ids.size(), "next question")) shown = ids[at + 1];
}

void draw_hints(Ui& ui, const Question& question, CardState& card) {
  const std::size_t count = std::min(card.hints, question.hints.size());
  for (std::size_t i = 0; i < count; ++i) {
    ui.wrapped(fmt::format("Hint {}: {}", i + 1, question.hints[i]), Face::small, ui.theme().text);
  }
  if (count == question.hints.size()) return;
  if (ui.link(count == 0 ? "A hint" : "Another hint", "hint")) ++card.hints;
}

void draw_problems(Ui& ui, const AskedQuestion& asked) {
  if (!asked.not_saved.empty()) {
    ui.problem("Not saved: " + asked.not_saved);
    ui.record("not saved");
  }
  for (const std::string& problem : {asked.problem, asked.runs_problem}) {
    if (!problem.empty()) ui.problem(problem);
  }
}

void draw_open(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
               Requests& ask) {
  const AskedQuestion& asked = *data.course->of(question.id);
  draw_answer_field(ui, data, state, question, card, ask);
  draw_hints(ui, question, card);
  if (!card.problem.empty()) ui.problem(card.problem);
  draw_problems(ui, asked);
  const bool can = data.course->may_write && !asked.busy;
  const bool entered = std::exchange(card.entered, false) && can;
  if (ui.button("Commit", ButtonKind::primary, can) || entered) {
    try {
      CourseRequest request{.kind = CourseRequest::Kind::commit, .id = question.id};
      request.answer = answer_on_card(data, state, question, card);
      request.seen = data.course->progress.answer_line(question.id);
      request.again = card.again_of != 0 && card.again_of == request.seen;
      ask.course = std::move(request);
      card.problem.clear();
    } catch (const Error& error) {
      card.problem = sentence_of(error);
    }
  }
  if (!data.course->may_write) ui.tip(data.course->progress_problem);
  ui.beside(12).framed().dim("Nothing is revealed until you commit.");
}

/// Of the run that is being made, how far it is; below it the last thing that was said.
void draw_making(Ui& ui, const Data& data) {
  const auto run = data.feed.runs->find(data.started_run);
  ImGuiCanvas canvas = ui.canvas();
  const Box row = ui.space(ui.px(14));
  const Box bar = {row.x0, row.y0 + ui.px(4), row.x1, row.y0 + ui.px(10)};
  const double wanted = run ? static_cast<double>(run->view.summary.wanted_steps) : 0;
  const double part = wanted > 0 ? std::min(1.0, static_cast<double>(run->view.summary.steps) / wanted) : 0;
  canvas.fill(bar, ui.theme().line, ui.px(3));
  canvas.fill({bar.x0, bar.y0, bar.x0 + bar.width() * static_cast<float>(part), bar.y1}, ui.theme().accent,
              ui.px(3));
  ui.record("run bar", bar);
  const auto& lines = data.feed.log;
  const std::string last = lines && !lines->empty() ? lines->back() : "starting";
  ui.fitted(last, Face::mono_small, ui.theme().dim);
}

/// That can be made here.
std::int64_t count_missing_here(const AskedQuestion& asked) {
  std::int64_t out = 0;
  if (!asked.found) return out;
  for (const FoundRuns& one : *asked.found) out += one.cannot.empty() ? one.missing : 0;
  return out;
}

/// Every button keeps its place, enabled or not, so Stop never appears under a pointer that has just clicked
/// Make the runs.
void draw_run_row(Ui& ui, const Data& data, const Question& question, const AskedQuestion& asked,
                  Requests& ask) {
  const std::int64_t missing = count_missing_here(asked);
  const bool ready = asked.found != nullptr && missing == 0;
  const RunRequest request = runs_request(question);
  if (ui.button("Make the runs", ready ? ButtonKind::plain : ButtonKind::primary,
                missing > 0 && !data.starting))
    ask.start = request;
  ui.tip(data.starting ? "Something is running" : ready ? "No runs are missing" : command_text(request));
  if (ui.beside(8).button("Reveal", ready ? ButtonKind::primary : ButtonKind::plain,
                          asked.found && !data.starting && !asked.busy))
    ask.course = CourseRequest{.kind = CourseRequest::Kind::reveal, .id = question.id};
  ui.tip(ready ? "Your answer beside what was measured" : "Without its runs it can only say what is missing");
  if (ui.at_x(ImGui::GetContentRegionMax().x - ui.button_width("Stop"))
          .button("Stop", ButtonKind::danger, data.starting, "stop the runs"))
    ask.stop_started = true;
  ui.tip("Like Ctrl-C in a terminal");
}

void draw_committed(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                    Requests& ask) {
  const AskedQuestion& asked = *data.course->of(question.id);
  const StoredAnswer* const answer = data.course->progress.answer(question.id);
  if (answer != nullptr) ui.sentence("You said: " + printable(answer_words(question, *answer)));
  ui.note(asked.found ? "What it takes: " + cost_text(*asked.found) + "." : "Looking for matching runs ...");
  if (asked.found) {
    for (const FoundRuns& one : *asked.found) {
      if (!one.cannot.empty()) ui.warning(one.wanted.name + ": " + one.cannot);
    }
  }
  if (data.starting) draw_making(ui, data);
  if (asked.revealed) ui.gap(2);
  if (asked.revealed) draw_result(ui, data, state, question, card, ask);
  draw_problems(ui, asked);
  draw_run_row(ui, data, question, asked, ask);
}

/// An opening question is done with once it was gone over, answered or not.
void draw_leaving(Ui& ui, const Data& data, const std::string& lesson, const std::string& id, bool again,
                  Requests& ask) {
  const bool done = data.course->of(id)->state == QuestionState::revealed && !again;
  const char* const words = done ? "Continue" : "Skip";
  if (!ui.button(words, done ? ButtonKind::primary : ButtonKind::quiet, data.course->may_write,
                 "leave the question"))
    return;
  ask.course = done_request(lesson, opening_mark(id));
}

}  // namespace

std::string unit_words(const Question& question) { return question.unit == "x" ? "times" : question.unit; }

std::string opening_mark(const std::string& id) { return "opening " + id; }
std::string opening_card(const std::string& lesson, const std::string& id) { return lesson + "/" + id; }

RunRequest runs_request(const Question& question) {
  return {.lesson = question.lesson, .words = {"quiz", question.id, "--runs-only", "--yes"}};
}

void draw_cards(Ui& ui, const Data& data, AppState& state, const std::string& place,
                const std::vector<std::string>& ids, Requests& ask) {
  if (ids.empty()) return;
  std::string& shown = state.course.shown[state.lesson + " " + place];
  if (!holds(ids, shown)) shown = first_to_do(data, ids);
  const AskedQuestion& asked = *data.course->of(shown);
  // A question of an earlier lesson is asked once more here; its own card stays as it is.
  const bool opening = place == kOpeningPlace;
  const std::string key = opening ? opening_card(state.lesson, shown) : shown;
  const bool is_new = opening && state.course.cards.count(key) == 0;
  CardState& card = state.course.card(key);
  const std::size_t newest = data.course->progress.answer_line(shown);
  if (is_new && asked.state == QuestionState::revealed) card.again_of = newest;
  const bool again = card.again_of != 0 && card.again_of == newest;
  const Question& question = again ? *asked.again : *asked.now;
  state.course.question = question.id;
  const CardBox box(ui, "card " + place, ui.theme().ground);
  ui.framed().fitted("asked by " + question.from, Face::small, ui.theme().dim, 120);
  draw_pager(ui, ids, shown);
  ui.wrapped(question.ask, Face::bold, ui.theme().text);
  ui.gap(2);
  if (asked.state == QuestionState::open || again) {
    if (question.kind == AnswerKind::find && question.lesson == state.lesson) state.code.asked = key;
    draw_open(ui, data, state, question, card, ask);
  } else if (asked.state == QuestionState::committed) {
    draw_committed(ui, data, state, question, card, ask);
  } else {
    draw_problems(ui, asked);
    draw_result(ui, data, state, question, card, ask);
  }
  if (opening) draw_leaving(ui, data, state.lesson, shown, again, ask);
}

}  // namespace isobar
