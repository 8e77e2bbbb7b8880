#include <algorithm>
#include <filesystem>

#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "plot/lesson_view.h"
#include "state/links.h"
#include "widgets/paragraph.h"

namespace isobar {
namespace {

constexpr std::size_t kCodeIndent = 4;  // columns: of rows that go on with a line
constexpr float kMostPicture = 900;     // pixels: no picture gets clearer by being larger

/// A line of a block with its colours, in as many rows as it needs.
struct CodeLine {
  std::string_view text;
  std::vector<ColouredPiece> pieces;
  std::vector<CodeRow> rows;
};

std::vector<CodeLine> code_lines(const MarkdownBlock& block, std::size_t columns) {
  std::vector<CodeLine> out;
  std::string_view rest = block.code;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    out.push_back({line,
                   block.language == "formula" ? std::vector<ColouredPiece>{{0, line.size(), Shade::plain}}
                                               : colour_shell(line),
                   code_rows(line, columns, kCodeIndent)});
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return out;
}

void draw_code_block(Ui& ui, const MarkdownBlock& block, Requests& ask) {
  ImGuiCanvas canvas = ui.canvas();
  const float letter = canvas.text_width("0", Face::mono_small);
  const float width = ImGui::GetContentRegionAvail().x;
  const auto columns = static_cast<std::size_t>(std::max(0.0F, (width - ui.px(18)) / letter));
  const std::vector<CodeLine> lines = code_lines(block, columns);
  std::size_t rows = 0;
  for (const CodeLine& line : lines) rows += line.rows.size();
  const float row_height = canvas.line_height(Face::mono_small) + ui.px(4);
  const float height = row_height * static_cast<float>(rows) + ui.px(12);
  const auto [box, clicked, hovered, active] =
      ui.area("code " + block.code.substr(0, block.code.find('\n')), {width, height});
  if (clicked) ask.copy = block.code;
  ui.tip("Click to copy");
  canvas.fill(box, hovered ? ui.theme().hover : ui.theme().raised, ui.px(5));
  canvas.push_clip({box.x0, box.y0, box.x1 - ui.px(6), box.y1});
  float y = box.y0 + ui.px(8);
  for (const CodeLine& line : lines) {
    for (std::size_t i = 0; i < line.rows.size(); ++i) {
      const CodeRow& row = line.rows[i];
      const float x = box.x0 + ui.px(10) + (i > 0 ? letter * static_cast<float>(kCodeIndent) : 0);
      paint_code(canvas, ui.theme(), {x, y}, line.text, line.pieces, Face::mono_small, row);
      const bool goes_on = i + 1 < line.rows.size();
      const std::size_t next = goes_on ? line.rows[i + 1].begin : row.end;
      ui.readable(line.text.substr(row.begin, next - row.begin), Face::mono_small, {x, y}, row_height,
                  goes_on);
      y += row_height;
    }
  }
  canvas.pop_clip();
}

std::string draw_table(Ui& ui, const MarkdownBlock& block) {
  if (block.rows.empty() || block.rows.front().empty()) return "";
  std::string clicked;
  const int columns = static_cast<int>(std::min<std::size_t>(16, block.rows.front().size()));
  const ImGuiTableFlags flags = ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("table", columns, flags)) return "";
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    ImGui::TableNextRow();
    ImGui::PushID(static_cast<int>(i));
    for (int c = 0; c < columns && c < static_cast<int>(block.rows[i].size()); ++c) {
      ImGui::TableSetColumnIndex(c);
      ImGui::PushID(c);
      const std::string link = show_spans(ui, block.rows[i][static_cast<std::size_t>(c)], 0, i == 0);
      if (!link.empty()) clicked = link;
      ImGui::PopID();
    }
    ImGui::PopID();
  }
  ImGui::EndTable();
  return clicked;
}

/// Our own pictures are drawn as they are on the page of the repository; of others their words are shown.
void draw_picture(Ui& ui, const std::string& lesson, const MarkdownBlock& block) {
  const std::string name = std::filesystem::path(block.target).stem().string();
  const LessonPicture* const picture = find_lesson_picture(lesson, name);
  const std::string words = words_of(block.spans);
  if (picture == nullptr) return ui.note("picture: " + (words.empty() ? block.target : words));
  draw_drawing(ui, "picture " + name, picture->drawing);
}

void draw_heading(Ui& ui, const MarkdownBlock& block, AppState& state) {
  const std::string words = words_of(block.spans);
  ui.gap(block.level <= 1 ? 0 : 6);
  ui.wrapped(words, block.level <= 1 ? Face::title : Face::bold, ui.theme().text);
  if (state.course.section.empty() || section_name(words) != state.course.section) return;
  ImGui::SetScrollHereY(0);
  state.course.section.clear();
}

bool draw_fold(Ui& ui, const std::string& lesson, const MarkdownBlock& block, AppState& state) {
  const std::string words = words_of(block.spans);
  const std::string id = lesson + "/" + words;
  const bool open = state.course.unfolded.count(id) != 0;
  Box row;
  if (ui.row("fold " + words, false, ui.px(30), &row) && state.course.unfolded.erase(id) == 0)
    state.course.unfolded.insert(id);
  ImGuiCanvas canvas = ui.canvas();
  const float middle = (row.y0 + row.y1) / 2;
  paint_chevron(canvas, {row.x0 + ui.px(8), middle}, ui.px(4), open ? Way::down : Way::right, ui.theme().dim,
                ui.px(1.5F));
  canvas.text(row.x0 + ui.px(22), middle - canvas.line_height(Face::bold) / 2, words, Face::bold,
              ui.theme().text);
  return open;
}

/// The link that was clicked, "" without one.
std::string draw_block(Ui& ui, const std::string& lesson, const MarkdownBlock& block, AppState& state,
                       Requests& ask) {
  using Kind = MarkdownBlock::Kind;
  if (block.kind == Kind::table) return draw_table(ui, block);
  if (block.kind == Kind::paragraph) return show_spans(ui, block.spans, 0, false);
  if (block.kind == Kind::quote) return show_spans(ui, block.spans, ui.px(16), false);
  if (block.kind == Kind::item) {
    const float indent = ui.px(static_cast<float>(16 * std::max(1, block.level)));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ui.canvas().text(at.x + indent - ui.px(14), at.y, block.marker, Face::text, ui.theme().dim);
    return show_spans(ui, block.spans, indent + ui.px(4), false);
  }
  if (block.kind == Kind::heading) draw_heading(ui, block, state);
  if (block.kind == Kind::code) draw_code_block(ui, block, ask);
  if (block.kind == Kind::rule) ImGui::Separator();
  if (block.kind == Kind::image) draw_picture(ui, lesson, block);
  return "";
}

/// Behind the end of the fold at `begin`.
std::size_t fold_end(const std::vector<MarkdownBlock>& blocks, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < blocks.size(); ++i) {
    if (blocks[i].kind == MarkdownBlock::Kind::fold) ++depth;
    if (blocks[i].kind == MarkdownBlock::Kind::fold_end && --depth == 0) return i + 1;
  }
  return blocks.size();
}

}  // namespace

void draw_drawing(Ui& ui, const std::string& name, const Drawing& drawing) {
  ImGuiCanvas canvas = ui.canvas();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x, ui.px(kMostPicture));
  const Box box = {at.x, at.y, at.x + width, at.y + drawing_height(canvas, drawing, width)};
  paint_drawing(canvas, ui.theme(), box, drawing);
  ui.space(box.height());
  ui.record(name, box);
}

void draw_page(Ui& ui, const std::string& lesson, const std::vector<MarkdownBlock>& blocks, AppState& state,
               Requests& ask) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(9)});
  for (std::size_t i = 0; i < blocks.size();) {
    ImGui::PushID(static_cast<int>(i));
    const bool skip = blocks[i].kind == MarkdownBlock::Kind::fold && !draw_fold(ui, lesson, blocks[i], state);
    const std::string link = draw_block(ui, lesson, blocks[i], state, ask);
    if (!link.empty()) ask.link = LinkRequest{lesson, link};
    ImGui::PopID();
    i = skip ? fold_end(blocks, i) : i + 1;
  }
  ImGui::PopStyleVar();
}

}  // namespace isobar
