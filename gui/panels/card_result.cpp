// What came of an answer.

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "text/markdown.h"
#include "widgets/paragraph.h"

namespace isobar {
namespace {

constexpr std::size_t kMostWords = 300;

/// A tick, a cross or a question mark in a disc, and the word.
void draw_outcome(Ui& ui, Outcome outcome) {
  const Theme& theme = ui.theme();
  const bool right = outcome == Outcome::right, wrong = outcome == Outcome::not_right;
  const Colour colour = right ? theme.good : wrong ? theme.bad : theme.warn;
  ImGuiCanvas canvas = ui.canvas();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float s = ui.px(1);
  const float line = canvas.line_height(Face::title);
  const PlotPoint middle = {at.x + 10 * s, at.y + line / 2};
  canvas.circle(middle, 10 * s, colour, true);
  if (right) {
    paint_tick(canvas, middle, theme.panel);
  } else if (wrong) {
    canvas.mark(middle, Mark::cross, 4.4F * s, theme.panel);
  } else {
    canvas.text(middle.x, middle.y - canvas.line_height(Face::bold) / 2, "?", Face::bold, theme.panel, 0.5F);
  }
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ui.px(28));
  ui.text(right                             ? "Right"
          : wrong                           ? "Not right"
          : outcome == Outcome::provisional ? "Not graded yet"
                                            : "Cannot be answered yet",
          Face::title, readable(colour, theme.ground, 4.5));
  ui.record(std::string("outcome ") + outcome_name(outcome));
}

/// Numbers of one unit on one axis from zero, or over powers of ten where one is far beyond the other.
Axis number_axis(const std::vector<double>& values, float begin, float end) {
  constexpr double kFar = 30, kHeadRoom = 1.05;
  double least = 0, most = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    most = std::max(most, std::abs(value));
    if (value > 0) least = least > 0 ? std::min(least, value) : value;
  }
  const bool log = least > 0 && most / least > kFar &&
                   std::ranges::all_of(values, [](double v) { return !std::isfinite(v) || v > 0; });
  return {log ? least / 2 : 0, most > 0 ? most * kHeadRoom : 1, log, false, begin, end};
}

/// The prediction, dotted as all that is predicted is, above the measurement with its interval.
void draw_numbers(Ui& ui, const Question& question, double said, const Truth& truth) {
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const float s = ui.px(1);
  const float row = 26 * s;
  const ImVec2 at = least_of(ui.space(2 * row - 6 * s));
  const float width = ImGui::GetContentRegionAvail().x;
  const std::string unit = " " + unit_words(question);
  const std::string ends[2] = {engineering(said, 3) + unit, engineering(truth.number, 3) + unit};
  const float words =
      std::max(canvas.text_width(ends[0], Face::bold), canvas.text_width(ends[1], Face::bold));
  const Axis axis =
      number_axis({said, truth.number, truth.low, truth.high}, at.x + 72 * s, at.x + width - words - 14 * s);
  const auto x_of = [&](double value) {
    return std::clamp(axis.pixel(std::abs(value)), axis.begin, std::max(axis.begin, axis.end));
  };
  const char* const names[2] = {"you said", "it is"};
  const double values[2] = {said, truth.number};
  for (int i = 0; i < 2; ++i) {
    const float y = at.y + row * static_cast<float>(i);
    canvas.text(at.x, y + 3 * s, names[i], Face::small, theme.dim);
    canvas.text(at.x + width, y + 2 * s, ends[i], Face::bold, theme.text, 1);
    const Box bar = {at.x + 72 * s, y + 5 * s, std::max(at.x + 74 * s, x_of(values[i])), y + 17 * s};
    if (i == 1) {
      canvas.fill(bar, theme.accent, 2 * s);
      continue;
    }
    canvas.fill(bar, with_alpha(theme.accent, 0.15F), 2 * s);
    paint_outline(canvas, bar, theme.accent, 1.5F * s, Dash::dotted);
  }
  const bool has_reach = std::isfinite(truth.low) && std::isfinite(truth.high);
  if (has_reach && x_of(truth.high) - x_of(truth.low) > 3 * s) {
    const float y = at.y + row + 11 * s;
    paint_stroke(canvas, {x_of(truth.low), y}, {x_of(truth.high), y}, theme.text, 2 * s);
    for (const float x : {x_of(truth.low), x_of(truth.high)})
      paint_stroke(canvas, {x, y - 5 * s}, {x, y + 5 * s}, theme.text, 2 * s);
  }
  ui.record("prediction beside truth", {at.x, at.y, at.x + width, at.y + 2 * row});
  if (axis.log) ui.dim("on a logarithmic axis");
}

void draw_sentence(Ui& ui, const std::string& words) { show_spans(ui, sentence_spans(words), 0, false); }

void draw_aside(Ui& ui, const std::string& words, Colour colour) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Indent(ui.px(12));
  draw_sentence(ui, words);
  ImGui::Unindent(ui.px(12));
  const float end = ImGui::GetCursorScreenPos().y - ImGui::GetStyle().ItemSpacing.y;
  ui.canvas().fill({at.x, at.y + ui.px(2), at.x + ui.px(3), end}, colour, ui.px(1));
}

/// The plots of the runs that it rests on, where it rests on any.
void draw_plots(Ui& ui, const std::vector<std::string>& runs, Requests& ask) {
  const auto show = [&](const char* words, View view, bool enabled, const char* tip) {
    if (ui.button(words, ButtonKind::plain, enabled, std::string("show ") + view_name(view))) {
      ask.look_at = runs;
      ask.view = view;
    }
    ui.tip(tip);
    ImGui::SameLine(0, ui.px(6));
  };
  if (runs.empty()) return ImGui::SameLine();
  show("Compare", View::compare, runs.size() > 1, "These runs overlaid");
  show("Timeline", View::timeline, true, "What ran when");
  show("Watch", View::watch, true, "Its curves");
}

void draw_ask_again(Ui& ui, const StoredAnswer& answer, CardState& card) {
  ImGui::SetCursorPosX(ImGui::GetContentRegionMax().x - ui.button_width("Ask again"));
  if (ui.button("Ask again", ButtonKind::quiet)) card = {.again_of = answer.line};
  ui.tip("Your next answer is kept beside this one");
}

/// Where other programs disturb runs of one's own: what was recorded stands for them.
void draw_instead(Ui& ui, const Revealed& revealed) {
  if (revealed.instead.empty()) return;
  const bool waits = revealed.graded.outcome == Outcome::provisional;
  ui.warning("It was recorded elsewhere: " + printable(revealed.instead, kMostWords) + "." +
             (waits ? " Your number is graded by runs of yours: ./isobar quiz --when-quiet" : ""));
}

/// Its section of reveal.md, on request.
void draw_more(Ui& ui, const Question& question, const AskedQuestion& asked, AppState& state, Requests& ask) {
  if (asked.page.empty()) return;
  const std::string id = question.id + "/more";
  const bool open = state.course.unfolded.count(id) != 0;
  if (ui.link(open ? "Hide the page's own figures" : "The page's own figures", "more") &&
      state.course.unfolded.erase(id) == 0)
    state.course.unfolded.insert(id);
  if (open) draw_page(ui, question.lesson, asked.page, state, ask);
}

void draw_said(Ui& ui, const std::string& said, const std::string& truth) {
  if (said != truth) ui.wrapped("You said: " + printable(said, kMostWords), Face::text, ui.theme().dim);
  ui.sentence("It is: " + printable(truth, kMostWords));
}

/// What was written down, where the runs of it no longer say it.
void draw_stored(Ui& ui, const Question& question, const AskedQuestion& asked, const StoredAnswer& answer,
                 const StoredReveal& stored, CardState& card) {
  Outcome outcome = Outcome::not_right;
  for (const Outcome one : {Outcome::right, Outcome::provisional}) {
    if (stored.outcome == outcome_name(one)) outcome = one;
  }
  draw_outcome(ui, outcome);
  draw_said(ui, answer_words(question, answer), stored.truth);
  ui.dim(printable(stored.source, kMostWords));
  ui.record("as it was written down");
  draw_ask_again(ui, answer, card);
  // Below the button, which so keeps its place when the look for the runs ends.
  if (asked.found) ui.note("As it was written down: its runs are gone, or say something else by now.");
}

}  // namespace

void draw_result(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                 Requests& ask) {
  const AskedQuestion& asked = *data.course->of(question.id);
  if (!asked.revealed) {
    const StoredReveal* const stored = data.course->progress.reveal(question.id);
    const StoredAnswer* const answer = data.course->progress.answer(question.id);
    if (stored == nullptr || answer == nullptr) return;
    draw_stored(ui, question, asked, *answer, *stored, card);
    return draw_more(ui, question, asked, state, ask);
  }
  const Graded& graded = asked.revealed->graded;
  const Truth& truth = asked.revealed->truth;
  draw_outcome(ui, graded.outcome);
  if (graded.outcome == Outcome::cannot_answer) {
    draw_sentence(ui, graded.cannot);
    const std::string& command = asked.revealed->command;
    if (!command.empty() && ui.button("Copy the command that makes it")) ask.copy = command;
    if (!command.empty()) ui.wrapped(command, Face::mono_small, ui.theme().dim);
    return;
  }
  const StoredAnswer& answer = asked.revealed->answer;
  if (question.kind == AnswerKind::number && answer.number && std::isfinite(truth.number)) {
    draw_numbers(ui, question, *answer.number, truth);
  } else {
    draw_said(ui, graded.said, graded.truth);
  }
  if (!graded.off_by.empty()) ui.note(graded.off_by);
  draw_instead(ui, *asked.revealed);
  if (!graded.says.empty()) draw_aside(ui, graded.says, ui.theme().warn);
  if (!graded.reveal.empty()) draw_sentence(ui, graded.reveal);
  if (!question.why.empty()) ui.note(question.why);
  if (asked.revealed->runs.empty()) ImGui::AlignTextToFramePadding();  // beside Ask again
  ui.dim(graded.source);
  draw_plots(ui, asked.revealed->runs, ask);
  draw_ask_again(ui, answer, card);
  draw_more(ui, question, asked, state, ask);
}

}  // namespace isobar
