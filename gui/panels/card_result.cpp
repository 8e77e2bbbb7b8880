// What came of an answer.

#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "plot/bars.h"
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

/// The prediction above the measurement with its interval.
void draw_numbers(Ui& ui, const Question& question, double said, const Truth& truth) {
  const std::string unit = " " + unit_words(question);
  draw_drawing(ui, "prediction beside truth",
               answer_bars(said, engineering(said, 3) + unit, truth.number,
                           engineering(truth.number, 3) + unit, truth.low, truth.high));
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
  if (question.kind == AnswerKind::number && answer.number.value_or(0) > 0 && truth.number > 0) {
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
