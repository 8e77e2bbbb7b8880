#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "draw/colour.h"
#include "panels/views.h"
#include "widgets/paragraph.h"

namespace isobar {
namespace {

/// What stands beside the name of a lesson's page.
std::string page_words(const LessonCard& card) {
  if (card.info.previous.empty())
    return "the first of the ladder: every later lesson is a diff against the one before";
  return fmt::format("compared with {}: {} added, {} removed", card.info.previous,
                     counted(static_cast<std::int64_t>(card.code.added), "line"), card.code.removed);
}

/// The ground of a line: that of a change, of the line that is meant, of the one that would be the answer.
Colour ground_of(const Theme& theme, const DiffLine& line, bool marked, bool hovered) {
  if (hovered) return theme.hover;
  if (marked) return theme.selected;
  if (line.kind == DiffLine::Kind::added) return theme.code.added;
  return line.kind == DiffLine::Kind::removed ? theme.code.removed : with_alpha(theme.panel, 0);
}

float line_height(Ui& ui) { return ui.canvas().line_height(Face::mono) + ui.px(4); }

float code_left(const Ui& ui, bool is_diff) { return ui.px(is_diff ? 62 : 54); }
float line_width(Ui& ui, const DiffLine& line, bool is_diff) {
  return code_left(ui, is_diff) + ui.canvas().text_width(line.text, Face::mono) + ui.px(12);
}

/// Line number, ground, coloured code; true when a line that can be chosen was clicked.
bool draw_code_line(Ui& ui, const DiffLine& line, const std::vector<ColouredPiece>& pieces, bool is_diff,
                    bool marked, bool can_choose) {
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = line_height(ui);
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
  const bool removed = line.kind == DiffLine::Kind::removed;
  const int number = removed ? line.old_number : line.new_number;
  const float x = at.x + code_left(ui, is_diff);
  const float width = line_width(ui, line, is_diff);
  Area place;
  if (can_choose && !removed) {
    place = ui.area(fmt::format("line {}", number), {std::max(width, right - at.x), height});
    if (place.hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  } else {
    ImGui::Dummy({width, height});
  }
  canvas.fill({at.x, at.y, right, at.y + height}, ground_of(theme, line, marked && !removed, place.hovered));
  canvas.text(at.x + ui.px(40), at.y + ui.px(2), std::to_string(number), Face::mono_small,
              marked || place.hovered ? theme.text : mixed(theme.panel, theme.dim, 0.7F), 1);
  if (is_diff) {
    const bool added = line.kind == DiffLine::Kind::added;
    canvas.text(at.x + ui.px(48), at.y + ui.px(1), added ? "+" : removed ? "-" : "", Face::mono, theme.dim);
  }
  paint_code(canvas, theme, {x, at.y + ui.px(2)}, line.text, pieces, Face::mono, {0, line.text.size()});
  if (!removed) ui.readable(line.text, Face::mono, {x, at.y}, height);
  return place.clicked;
}

bool can_choose_line(const CodeState& code) { return !code.asked.empty() && code.file.empty(); }

/// A place on the page, not a line of the file: a diff has more of them.
std::optional<std::size_t> marked_line(const CodePage& page, std::int64_t number) {
  const auto found = std::ranges::find_if(page.lines, [&](const DiffLine& line) {
    return number > 0 && line.kind != DiffLine::Kind::removed && line.new_number == number;
  });
  if (found == page.lines.end()) return std::nullopt;
  return static_cast<std::size_t>(found - page.lines.begin());
}

/// Only the lines in sight: a file may have very many.
void draw_lines(Ui& ui, const CodePage& page, bool is_diff, AppState& state) {
  if (page.lines.empty()) return;
  CodeState& code = state.code;
  const bool can_choose = can_choose_line(code);
  const float height = line_height(ui);
  const std::optional<std::size_t> marked = marked_line(page, code.line);
  if (marked && code.scroll) {
    const float top = ImGui::GetCursorPosY() - ImGui::GetScrollY();
    ImGui::SetScrollFromPosY(top + height * static_cast<float>(*marked), 0.4F);
    code.scroll = false;
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(page.lines.size()), height);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!draw_code_line(ui, page.lines[at], page.colours[at], is_diff, marked == at, can_choose)) continue;
      code.line = page.lines[at].new_number;
      state.course.card(code.asked).typed = std::to_string(code.line);
      state.course.card(code.asked).problem.clear();
    }
  }
  // The page is as wide as its longest line, in sight or not.
  ImGui::Dummy({line_width(ui, page.lines[page.longest], is_diff), 0});
}

}  // namespace

void draw_code(Ui& ui, const Data& data, AppState& state, Requests&) {
  CodeState& code = state.code;
  const LessonCard* const card = data.project.find(state.lesson);
  if (code.file.empty() && (card == nullptr || card->page.empty()))
    return ui.nothing("No code", "This lesson has no main.cpp.");
  const bool is_page = code.file.empty();
  ui.text(is_page ? "lessons/" + card->info.name + "/main.cpp" : code.file, Face::bold);
  ImGui::SameLine();
  if (!is_page && ui.link("back to main.cpp", "back to main.cpp")) {
    code.file.clear();
    code.line = 0;
  }
  ui.dim(is_page ? page_words(*card) : "");
  if (can_choose_line(code))
    ui.text("Click the line that answers the question; the card on the right takes it.", Face::text,
            readable(ui.theme().accent, ui.theme().ground, 4.5));
  ui.gap(2);
  ImGui::BeginChild("page", {0, 0}, true,
                    ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  draw_lines(ui, is_page ? card->code : code.page, is_page ? !card->info.previous.empty() : code.is_diff,
             state);
  ImGui::PopStyleVar();
  ImGui::EndChild();
}

}  // namespace isobar
