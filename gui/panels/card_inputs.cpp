// How each kind of question is answered.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/text.h"
#include "course/curve_shape.h"
#include "draw/colour.h"
#include "panels/cards.h"
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

/// Words over as many lines as they need, with a ring before them.
void draw_choice(Ui& ui, const Question& question, const QuestionChoice& choice, CardState& card) {
  const ImGuiCanvas canvas = ui.canvas();
  const float room = ImGui::GetContentRegionAvail().x - ui.px(36);
  const std::string lines = in_lines(choice_words(question, choice.key), room, [&](std::string_view part) {
    return canvas.text_width(part, Face::text);
  });
  const auto count = static_cast<float>(1 + std::count(lines.begin(), lines.end(), '\n'));
  Box row;
  const float line = ImGui::GetTextLineHeight();
  if (ui.row("choice " + choice.key, card.typed == choice.key, count * line + ui.px(12), &row))
    choose(card, choice.key);
  draw_ring(ui, {row.x0 + ui.px(14), row.y0 + ui.px(6) + line / 2}, card.typed == choice.key);
  float y = row.y0 + ui.px(6);
  for (const std::string& words : split(lines, '\n')) {
    ui.canvas().text(row.x0 + ui.px(30), y, words, Face::text, ui.theme().text);
    y += line;
  }
}

/// One of three wide buttons with an arrow or a bar.
void draw_direction(Ui& ui, const char* key, const char* words, float width, CardState& card) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ui.px(48);
  const bool chosen = card.typed == key;
  ImGui::PushID(key);
  if (ImGui::InvisibleButton("direction", {width, height})) choose(card, key);
  ui.record(std::string("direction ") + key);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const Box box = {at.x, at.y, at.x + width, at.y + height};
  canvas.fill(box, chosen ? theme.selected : hovered ? theme.hover : theme.panel, ui.px(6));
  const float x = (box.x0 + box.x1) / 2;
  const float y = at.y + ui.px(15);
  const float a = ui.px(6);
  const Colour colour = chosen ? theme.accent : theme.dim;
  if (std::string_view(key) == "same") {
    canvas.fill({x - a, y - ui.px(1.5F), x + a, y + ui.px(1.5F)}, colour, 1);
  } else {
    const float up = std::string_view(key) == "up" ? 1 : -1;
    const PlotPoint arrow[3] = {{x - a, y + up * a / 2}, {x, y - up * a / 2}, {x + a, y + up * a / 2}};
    canvas.line(arrow, colour, ui.px(2), Dash::solid);
  }
  canvas.text(x, at.y + ui.px(25), words, Face::text, theme.text, 0.5F);
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
  ImGui::SameLine(0, ui.px(10));
  ImGui::AlignTextToFramePadding();
  ui.text(unit_words(question), Face::text, ui.theme().dim);
}

/// A curve without figures over the one of a run without the mistake, which is dotted; a cross where it
/// stops.
void paint_shape(Canvas& canvas, const Theme& theme, const Box& box, const CurveShape& shape) {
  const float s = canvas.scale();
  const Colour axes = mixed(theme.panel, theme.dim, 0.6F);
  canvas.fill({box.x0, box.y0, box.x0 + s, box.y1}, axes, 0);
  canvas.fill({box.x0, box.y1 - s, box.x1, box.y1}, axes, 0);
  const auto points_of = [&](const CurveShape& one) {
    std::vector<PlotPoint> out;
    for (const CurvePoint& point : one.points)
      out.push_back({box.x0 + static_cast<float>(point.x) * box.width(),
                     box.y1 - static_cast<float>(point.y) * box.height()});
    return out;
  };
  canvas.line(points_of(usual_curve()), theme.dim, 1.5F * s, Dash::dotted);
  const std::vector<PlotPoint> points = points_of(shape);
  canvas.line(points, theme.accent, 2 * s, Dash::solid);
  if (shape.stops && !points.empty()) canvas.mark(points.back(), Mark::cross, 5 * s, theme.bad);
}

/// The words below a curve, in lines of this width.
std::string caption_of(Ui& ui, const Question& question, const QuestionChoice& choice, float width) {
  const ImGuiCanvas measure = ui.canvas();
  return in_lines(choice_words(question, choice.key), width - ui.px(12),
                  [&](std::string_view part) { return measure.text_width(part, Face::small); });
}

void draw_curve(Ui& ui, const QuestionChoice& choice, const std::string& caption, ImVec2 size,
                CardState& card) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool chosen = card.typed == choice.key;
  ImGui::PushID(choice.key.c_str());
  if (ImGui::InvisibleButton("curve", size)) choose(card, choice.key);
  ui.record("choice " + choice.key);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const Box box = {at.x, at.y, at.x + size.x, at.y + size.y};
  canvas.fill(box, chosen ? theme.selected : hovered ? theme.hover : theme.panel, ui.px(6));
  const Box plot = {box.x0 + ui.px(10), box.y0 + ui.px(8), box.x1 - ui.px(10), box.y0 + ui.px(kCurve)};
  if (const CurveShape* const shape = curve_shape(choice.key)) paint_shape(canvas, theme, plot, *shape);
  float y = plot.y1 + ui.px(3);
  for (const std::string& words : split(caption, '\n')) {
    canvas.text(box.x0 + ui.px(6), y, words, Face::small, theme.text);
    y += canvas.line_height(Face::small);
  }
}

void draw_curves(Ui& ui, const Question& question, CardState& card) {
  const float gap = ui.px(8);
  const float room = ImGui::GetContentRegionAvail().x;
  const int columns = std::clamp(static_cast<int>(room / ui.px(150)), 1, 4);
  const float width = (room - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  std::vector<std::string> captions;
  std::ptrdiff_t rows = 1;  // of the longest: all are equally high
  for (const QuestionChoice& choice : question.choices) {
    captions.push_back(caption_of(ui, question, choice, width));
    rows = std::max(rows, 1 + std::count(captions.back().begin(), captions.back().end(), '\n'));
  }
  const float height =
      ui.px(kCurve) + ui.px(8) + static_cast<float>(rows) * ui.canvas().line_height(Face::small);
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) != 0) ImGui::SameLine(0, gap);
    draw_curve(ui, question.choices[i], captions[i], {width, height}, card);
  }
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
  ImGui::AlignTextToFramePadding();
  ui.text("line", Face::text, ui.theme().dim);
  ImGui::SameLine(0, ui.px(8));
  draw_field(ui, "", ui.px(90), card);
  const std::string line = printable(line_on_card(asked_text(data, question), card), 200);
  ui.text(ui.canvas().fitted(line, Face::mono_small, ImGui::GetContentRegionAvail().x), Face::mono_small,
          ui.theme().text);
}

/// The ticked runs are the answer.
void draw_make(Ui& ui, const Data& data, const AppState& state) {
  std::int64_t count = 0;
  for (const auto& run : data.feed.runs->runs) {
    if (state.compared.count(run->id) == 0) continue;
    ++count;
    ui.text(ui.canvas().fitted(title_of(*run), Face::mono_small, ImGui::GetContentRegionAvail().x),
            Face::mono_small, ui.theme().text);
  }
  ui.wrapped(count == 0
                 ? "Make runs of your own, then tick them in the list on the left: they are your answer."
                 : counted(count, "ticked run") + ": your answer.",
             Face::small, ui.theme().dim);
}

std::vector<std::filesystem::path> ticked_runs(const Data& data, const AppState& state) {
  std::vector<std::filesystem::path> out;
  for (const auto& run : data.feed.runs->runs) {
    if (state.compared.count(run->id) > 0) out.push_back(run->folder);
  }
  return out;
}

}  // namespace

Answer answer_on_card(const Data& data, const AppState& state, const Question& question,
                      const CardState& card) {
  if (question.kind == AnswerKind::make) return answer_of_runs(question, ticked_runs(data, state));
  const std::string& text = asked_text(data, question);
  return parse_answer(question, card.typed, std::count(text.begin(), text.end(), '\n'));
}

void draw_answer_field(Ui& ui, const Data& data, AppState& state, const Question& question, CardState& card,
                       Requests& ask) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(6)});
  switch (question.kind) {
    case AnswerKind::choice:
      if (question.rule == "curve") {
        draw_curves(ui, question, card);
      } else {
        for (const QuestionChoice& choice : question.choices) draw_choice(ui, question, choice, card);
      }
      break;
    case AnswerKind::direction:
      draw_directions(ui, card);
      break;
    case AnswerKind::number:
      draw_number(ui, question, card);
      break;
    case AnswerKind::find:
      draw_find(ui, data, state, question, card, ask);
      break;
    case AnswerKind::make:
      draw_make(ui, data, state);
      break;
  }
  ImGui::PopStyleVar();
}

}  // namespace isobar
