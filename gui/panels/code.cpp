#include "panels/code.h"

#include <fmt/format.h>

#include <algorithm>

#include "draw/colour.h"
#include "widgets/code_text.h"

namespace isobar {
namespace {

struct ShownCode {
  std::string title;
  std::string words = {};
  std::vector<DiffLine> lines = {};
  bool is_diff = false;
  bool is_cpp = true;
};

ShownCode file_code(const CodeState& code) {
  ShownCode out{.title = code.file, .lines = diff_lines(code.text, code.text)};
  const auto ends = [&](const char* ending) { return code.file.ends_with(ending); };
  out.is_cpp = ends(".cpp") || ends(".h") || ends(".cu") || ends(".cuh");
  return out;
}

ShownCode page_code(const LessonCard& card) {
  ShownCode out{.title = "lessons/" + card.info.name + "/main.cpp", .is_diff = !card.info.previous.empty()};
  out.lines = out.is_diff ? card.diff : diff_lines(card.page, card.page);
  if (!out.is_diff) {
    out.words = "the first of the ladder: every later lesson is a difference to this page";
    return out;
  }
  const auto count = [&](DiffLine::Kind kind) {
    return std::count_if(out.lines.begin(), out.lines.end(), [&](auto& line) { return line.kind == kind; });
  };
  out.words = fmt::format("against {}: {} lines more, {} less", card.info.previous,
                          count(DiffLine::Kind::added), count(DiffLine::Kind::removed));
  return out;
}

/// The ground of a line: that of a change, of the line that is meant, of the one that would be the answer.
Colour ground_of(const Theme& theme, const DiffLine& line, bool marked, bool hovered) {
  if (hovered) return theme.hover;
  if (marked) return theme.selected;
  if (line.kind == DiffLine::Kind::added) return theme.code.added;
  return line.kind == DiffLine::Kind::removed ? theme.code.removed : with_alpha(theme.panel, 0);
}

/// Line number, ground, coloured code; true when a line that can be chosen was clicked.
bool draw_code_line(Ui& ui, const DiffLine& line, const std::vector<ColouredPiece>& pieces, bool is_diff,
                    bool marked, bool can_choose) {
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = canvas.line_height(Face::mono) + ui.px(4);
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
  const bool removed = line.kind == DiffLine::Kind::removed;
  const int number = removed ? line.old_number : line.new_number;
  const float x = at.x + ui.px(is_diff ? 62 : 54);
  const float width = x - at.x + canvas.text_width(line.text, Face::mono) + ui.px(12);
  bool clicked = false;
  bool hovered = false;
  if (can_choose && !removed) {
    ImGui::PushID(number);
    clicked = ImGui::InvisibleButton("line", {std::max(width, right - at.x), height});
    hovered = ImGui::IsItemHovered();
    ui.record(fmt::format("line {}", number));
    ImGui::PopID();
    if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  } else {
    ImGui::Dummy({width, height});
  }
  canvas.fill({at.x, at.y, right, at.y + height}, ground_of(theme, line, marked && !removed, hovered));
  canvas.text(at.x + ui.px(40), at.y + ui.px(2), std::to_string(number), Face::mono_small,
              marked || hovered ? theme.text : mixed(theme.panel, theme.dim, 0.7F), 1);
  if (is_diff) {
    const bool added = line.kind == DiffLine::Kind::added;
    canvas.text(at.x + ui.px(48), at.y + ui.px(1), added ? "+" : removed ? "-" : "", Face::mono, theme.dim);
  }
  paint_code(canvas, theme, {x, at.y + ui.px(2)}, line.text, pieces, Face::mono, {0, line.text.size()});
  return clicked;
}

bool can_choose_line(const CodeState& code) { return !code.asked.empty() && code.asked_file == code.file; }

void draw_lines(Ui& ui, const ShownCode& shown, AppState& state) {
  ColourState old_state;
  ColourState new_state;
  CodeState& code = state.code;
  const bool can_choose = can_choose_line(code);
  for (const DiffLine& line : shown.lines) {
    const bool removed = line.kind == DiffLine::Kind::removed;
    ColourState& colouring = removed ? old_state : new_state;
    const std::vector<ColouredPiece> pieces =
        shown.is_cpp ? colour_cpp(line.text, colouring)
                     : std::vector<ColouredPiece>{{0, line.text.size(), Shade::plain}};
    if (line.kind == DiffLine::Kind::same) old_state = new_state;
    const bool marked = code.line > 0 && line.new_number == code.line && !removed;
    if (draw_code_line(ui, line, pieces, shown.is_diff, marked, can_choose)) {
      code.line = line.new_number;
      state.course.card(code.asked).typed = std::to_string(line.new_number);
      state.course.card(code.asked).problem.clear();
    }
    if (marked && code.scroll) {
      ImGui::SetScrollHereY(0.4F);
      code.scroll = false;
    }
  }
}

}  // namespace

Requests draw_code(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  CodeState& code = state.code;
  const LessonCard* const card = data.project.find(state.lesson);
  if (code.file.empty() && (card == nullptr || card->page.empty())) {
    ui.empty_state("No code", "This lesson has no main.cpp.");
    return ask;
  }
  const ShownCode shown = code.file.empty() ? page_code(*card) : file_code(code);
  ui.text(shown.title, Face::bold);
  ImGui::SameLine();
  if (!code.file.empty() && ui.link("back to main.cpp", "back to main.cpp")) {
    code.file.clear();
    code.line = 0;
  }
  ui.text(shown.words, Face::small, ui.theme().dim);
  if (can_choose_line(code))
    ui.text("Click the line that answers the question; the card on the right takes it.", Face::text,
            readable(ui.theme().accent, ui.theme().ground, 4.5));
  ui.gap(2);
  ImGui::BeginChild("page", {0, 0}, true,
                    ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  draw_lines(ui, shown, state);
  ImGui::PopStyleVar();
  ImGui::EndChild();
  return ask;
}

}  // namespace isobar
