// How each kind of question is answered.

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/text.h"
#include "course/curve_shape.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "text/line_break.h"

namespace isobar {
namespace {

constexpr float kCurve = 74;  // height of a drawn curve

/// A ring before what can be chosen, filled where it is.
void draw_ring(Ui& ui, PlotPoint at, bool chosen) {
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  canvas.circle(at, ui.px(7), chosen ? theme.accent : mixed(theme.panel, theme.dim, 0.7F), true);
  canvas.circle(at, ui.px(5.5F), theme.panel, true);
  if (chosen) canvas.circle(at, ui.px(3), theme.accent, true);
}

void choose(CardState& card, const std::string& key) {
  card.typed = key;
  card.problem.clear();
}

/// The words of a choice in lines of this width.
std::string rows_of(Ui& ui, const Question& question, const QuestionChoice& choice, float width, Face face) {
  const ImGuiCanvas measure = ui.canvas();
  return in_lines(choice_words(question, choice.key), width,
                  [&](std::string_view part) { return measure.text_width(part, face); });
}

std::ptrdiff_t count_rows(const std::string& rows) { return 1 + std::ranges::count(rows, '\n'); }

void paint_rows(Canvas& canvas, const std::string& rows, PlotPoint at, Face face, Colour colour) {
  for (const std::string& words : split(rows, '\n')) {
    canvas.text(at.x, at.y, words, face, colour);
    at.y += canvas.line_height(face);
  }
}

/// Words over as many lines as they need, with a ring before them.
void draw_choice(Ui& ui, const Question& question, const QuestionChoice& choice, CardState& card) {
  const float room = ImGui::GetContentRegionAvail().x - ui.px(36);
  const std::string rows = rows_of(ui, question, choice, room, Face::text);
  ImGuiCanvas canvas = ui.canvas();
  Box row;
  const float line = canvas.line_height(Face::text);
  if (ui.row("choice " + choice.key, card.typed == choice.key,
             static_cast<float>(count_rows(rows)) * line + ui.px(12), &row))
    choose(card, choice.key);
  draw_ring(ui, {row.x0 + ui.px(14), row.y0 + ui.px(6) + line / 2}, card.typed == choice.key);
  paint_rows(canvas, rows, {row.x0 + ui.px(30), row.y0 + ui.px(6)}, Face::text, ui.theme().text);
}

/// A wide button for one of a few answers; what it shows is drawn over its box.
Box draw_option(Ui& ui, const std::string& name, const std::string& key, ImVec2 size, CardState& card) {
  const auto [box, clicked, hovered, active] = ui.area(name, size);
  if (clicked) choose(card, key);
  const Theme& theme = ui.theme();
  const Colour ground = card.typed == key ? theme.selected : hovered ? theme.hover : theme.panel;
  ui.canvas().fill(box, ground, ui.px(6));
  return box;
}

void draw_direction(Ui& ui, const std::string& key, const char* words, float width, CardState& card) {
  const Box box = draw_option(ui, "direction " + key, key, {width, ui.px(48)}, card);
  ImGuiCanvas canvas = ui.canvas();
  const PlotPoint middle = {(box.x0 + box.x1) / 2, box.y0 + ui.px(15)};
  const float a = ui.px(6), thick = ui.px(1.5F);
  const Colour colour = card.typed == key ? ui.theme().accent : ui.theme().dim;
  if (key == "same") {
    canvas.fill({middle.x - a, middle.y - thick, middle.x + a, middle.y + thick}, colour, 1);
  } else {
    paint_chevron(canvas, middle, a, key == "up" ? Way::up : Way::down, colour, ui.px(2));
  }
  canvas.text(middle.x, box.y0 + ui.px(25), words, Face::text, ui.theme().text, 0.5F);
}

void draw_directions(Ui& ui, CardState& card) {
  constexpr std::array<std::array<const char*, 2>, 3> kWays = {
      {{"up", "up"}, {"same", "the same"}, {"down", "down"}}};
  const float gap = ui.px(8);
  const float width = (ImGui::GetContentRegionAvail().x - 2 * gap) / 3;
  for (std::size_t i = 0; i < kWays.size(); ++i) {
    if (i > 0) ImGui::SameLine(0, gap);
    draw_direction(ui, kWays[i][0], kWays[i][1], width, card);
  }
}

/// Enter commits.
void draw_field(Ui& ui, const char* hint, float width, CardState& card) {
  if (ui.input("answer", card.typed, hint, width, card.problem.empty())) card.problem.clear();
  card.entered = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter));
}

void draw_number(Ui& ui, const Question& question, CardState& card) {
  draw_field(ui, "your number", ui.px(130), card);
  ui.beside(10).framed().text(unit_words(question), Face::text, ui.theme().dim);
}

/// A curve without figures between its axes.
void paint_shape(Canvas& canvas, const Theme& theme, const Box& box, const CurveShape& shape) {
  const float s = canvas.scale();
  const Colour axes = mixed(theme.panel, theme.dim, 0.6F);
  canvas.fill({box.x0, box.y0, box.x0 + s, box.y1}, axes);
  canvas.fill({box.x0, box.y1 - s, box.x1, box.y1}, axes);
  paint_curve_shape(canvas, theme, box, shape);
}

void draw_curve(Ui& ui, const QuestionChoice& choice, const std::string& caption, ImVec2 size,
                CardState& card) {
  const Box box = draw_option(ui, "choice " + choice.key, choice.key, size, card);
  ImGuiCanvas canvas = ui.canvas();
  const Box plot = {box.x0 + ui.px(10), box.y0 + ui.px(8), box.x1 - ui.px(10), box.y0 + ui.px(kCurve)};
  if (const CurveShape* const shape = curve_shape(choice.key)) paint_shape(canvas, ui.theme(), plot, *shape);
  paint_rows(canvas, caption, {box.x0 + ui.px(6), plot.y1 + ui.px(3)}, Face::small, ui.theme().text);
}

void draw_curves(Ui& ui, const Question& question, CardState& card) {
  const float gap = ui.px(8);
  const float room = ImGui::GetContentRegionAvail().x;
  const int columns = std::clamp(static_cast<int>(room / ui.px(150)), 1, 4);
  const float width = (room - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  std::vector<std::string> captions;
  std::ptrdiff_t rows = 1;  // of the longest: all are equally high
  for (const QuestionChoice& choice : question.choices) {
    captions.push_back(rows_of(ui, question, choice, width - ui.px(12), Face::small));
    rows = std::max(rows, count_rows(captions.back()));
  }
  const float height =
      ui.px(kCurve) + ui.px(8) + static_cast<float>(rows) * ui.canvas().line_height(Face::small);
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) != 0) ImGui::SameLine(0, gap);
    draw_curve(ui, question.choices[i], captions[i], {width, height}, card);
  }
}

void draw_choices(Ui& ui, const Question& question, CardState& card) {
  if (question.rule == "curve") return draw_curves(ui, question, card);
  for (const QuestionChoice& choice : question.choices) draw_choice(ui, question, choice, card);
}

/// The text that a line is asked of.
const std::string& asked_text(const Data& data, const Question& question) {
  static const std::string kNone;
  const LessonCard* const lesson = data.project.find(question.lesson);
  return lesson == nullptr ? kNone : lesson->page;
}

/// The line as it stands there; "" before one was clicked.
std::string line_on_card(const std::string& text, const CardState& card) {
  const std::vector<std::string> lines = split(text, '\n');
  const std::size_t at = std::strtoul(card.typed.c_str(), nullptr, 10);
  return at == 0 || at > lines.size() ? "" : lines[at - 1];
}

void draw_find(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
               Requests& ask) {
  if (state.view == View::code && state.code.file.empty() && state.lesson == question.lesson) {
    ui.dim("Click the line in the code.");
  } else if (ui.button("Show the code")) {
    ask.link = LinkRequest{question.lesson, "main.cpp"};
  }
  ui.framed().text("line", Face::text, ui.theme().dim);
  ImGui::SameLine(0, ui.px(8));
  draw_field(ui, "", ui.px(90), card);
  const std::string line = printable(line_on_card(asked_text(data, question), card), 200);
  ui.fitted(line, Face::mono_small, ui.theme().text);
}

/// The ticked runs are the answer.
void draw_make(Ui& ui, const Data& data, const AppState& state) {
  const Runs runs = ticked_runs(*data.feed.runs, state.compared);
  for (const auto& run : runs) ui.fitted(title_of(*run), Face::mono_small, ui.theme().text);
  ui.note(runs.empty()
              ? "Make runs of your own, then tick them in the list on the left: they are your answer."
              : counted(static_cast<std::int64_t>(runs.size()), "ticked run") + ": your answer.");
}

}  // namespace

Answer answer_on_card(const Data& data, const AppState& state, const Question& question,
                      const CardState& card) {
  if (question.kind == AnswerKind::make) {
    std::vector<std::filesystem::path> folders;
    for (const auto& run : ticked_runs(*data.feed.runs, state.compared)) folders.push_back(run->folder);
    return answer_of_runs(question, folders);
  }
  const std::string& text = asked_text(data, question);
  return parse_answer(question, card.typed, std::ranges::count(text, '\n'));
}

void draw_answer_field(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                       Requests& ask) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(6)});
  if (const std::optional<Drawing>& pictures = data.course->of(question.id)->choices)
    draw_drawing(ui, "choices", *pictures);
  if (question.kind == AnswerKind::choice) draw_choices(ui, question, card);
  if (question.kind == AnswerKind::direction) draw_directions(ui, card);
  if (question.kind == AnswerKind::number) draw_number(ui, question, card);
  if (question.kind == AnswerKind::find) draw_find(ui, data, state, question, card, ask);
  if (question.kind == AnswerKind::make) draw_make(ui, data, state);
  ImGui::PopStyleVar();
}

}  // namespace isobar
