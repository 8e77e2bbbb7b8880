#include "panels/lesson.h"

#include <fmt/format.h>

#include <algorithm>

#include "draw/colour.h"
#include "text/cpp_colours.h"
#include "text/line_break.h"

namespace isobar {
namespace {

constexpr std::size_t kCodeIndent = 4;  // columns: of rows that go on with a line

Colour shade_colour(const Theme& theme, Shade shade) {
  switch (shade) {
    case Shade::keyword:
      return theme.code.keyword;
    case Shade::type:
      return theme.code.type;
    case Shade::number:
      return theme.code.number;
    case Shade::string:
      return theme.code.string;
    case Shade::comment:
      return theme.code.comment;
    case Shade::preprocessor:
      return theme.code.preprocessor;
    case Shade::call:
      return theme.code.call;
    case Shade::plain:
      break;
  }
  return theme.text;
}

/// The part of a line that stands in one row.
void draw_line(Canvas& canvas, const Theme& theme, float x, float y, std::string_view line,
               const std::vector<ColouredPiece>& pieces, Face face, const CodeRow& row) {
  for (const ColouredPiece& piece : pieces) {
    const std::size_t begin = std::max<std::size_t>(piece.begin, row.begin);
    const std::size_t end = std::min<std::size_t>(piece.end, row.end);
    if (begin >= end) continue;
    const std::string_view part = line.substr(begin, end - begin);
    canvas.text(x, y, part, face, shade_colour(theme, piece.shade));
    x += canvas.text_width(part, face);
  }
}

/// Words one after the other with their own faces, broken at blanks, and within a word that no line holds.
class Paragraph {
 public:
  Paragraph(Ui& ui, float indent) : ui_(ui), canvas_(ui.canvas()) {
    begin_ = ImGui::GetCursorScreenPos();
    begin_.x += indent;
    right_ = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
    x_ = begin_.x;
    y_ = begin_.y;
  }

  void add(const TextSpan& span, Face face, Colour colour) {
    std::size_t begin = 0;
    while (begin < span.text.size()) {
      if (span.text[begin] == '\n') {
        new_line();
        ++begin;
        continue;
      }
      const std::size_t end = end_of_word(span.text, begin, right_ - begin_.x, [&](std::string_view stretch) {
        return canvas_.text_width(stretch, face);
      });
      const std::string_view word = std::string_view(span.text).substr(begin, end - begin);
      const float width = canvas_.text_width(word, face);
      if (x_ + width > right_ && x_ > begin_.x) new_line();
      const std::string_view shown = x_ == begin_.x && word.front() == ' ' ? word.substr(1) : word;
      if (span.code) {
        const float w = canvas_.text_width(shown, face);
        const float lead = !shown.empty() && shown.front() == ' ' ? canvas_.text_width(" ", face) : 0;
        canvas_.fill({x_ + lead - ui_.px(1), y_, x_ + w + ui_.px(1), y_ + height(face) + ui_.px(1)},
                     ui_.theme().raised, ui_.px(3));
      }
      canvas_.text(x_, y_ + (height_of_line() - height(face)) / 2, shown, face, colour);
      x_ += canvas_.text_width(shown, face);
      begin = end;
    }
  }

  void finish() { ImGui::Dummy({1, y_ - begin_.y + height_of_line()}); }

 private:
  float height(Face face) const { return canvas_.line_height(face); }
  float height_of_line() const { return canvas_.line_height(Face::text) + ui_.px(3); }
  void new_line() {
    x_ = begin_.x;
    y_ += height_of_line();
  }

  Ui& ui_;
  ImGuiCanvas canvas_;
  ImVec2 begin_;
  float right_ = 0, x_ = 0, y_ = 0;
};

void draw_spans(Ui& ui, const std::vector<TextSpan>& spans, float indent, bool strong) {
  const Theme& theme = ui.theme();
  Paragraph paragraph(ui, indent);
  for (const TextSpan& span : spans) {
    const Face face = span.code ? Face::mono_small : span.bold || strong ? Face::bold : Face::text;
    const Colour link = readable(theme.accent, theme.panel, 4.5);
    paragraph.add(span, face, !span.link.empty() ? link : theme.text);
  }
  paragraph.finish();
}

/// A line of a block with its colours, in as many rows as it needs.
struct CodeLine {
  std::string_view text;
  std::vector<ColouredPiece> pieces;
  std::vector<CodeRow> rows;
};

std::vector<CodeLine> code_lines(const MarkdownBlock& block, std::size_t columns) {
  std::vector<CodeLine> out;
  ColourState state;
  const bool cpp = block.language == "cpp" || block.language == "c++";
  std::string_view rest = block.code;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    out.push_back({line,
                   cpp                        ? colour_cpp(line, state)
                   : block.language == "toml" ? colour_toml(line)
                                              : colour_shell(line),
                   code_rows(line, columns, kCodeIndent)});
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return out;
}

void draw_code_block(Ui& ui, const MarkdownBlock& block, int number, Requests& ask) {
  ImGuiCanvas canvas = ui.canvas();
  const float letter = canvas.text_width("0", Face::mono_small);
  const float width = ImGui::GetContentRegionAvail().x;
  const auto columns = static_cast<std::size_t>(std::max(0.0F, (width - ui.px(18)) / letter));
  const std::vector<CodeLine> lines = code_lines(block, columns);
  std::size_t rows = 0;
  for (const CodeLine& line : lines) rows += line.rows.size();
  const float row_height = canvas.line_height(Face::mono_small) + ui.px(4);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = row_height * static_cast<float>(rows) + ui.px(12);
  ImGui::PushID(number);
  if (ImGui::InvisibleButton("code", {std::max(1.0F, width), height})) ask.copy = block.code;
  ui.record("code " + block.code.substr(0, block.code.find('\n')));
  const bool hovered = ImGui::IsItemHovered();
  ui.tip("Click to copy");
  ImGui::PopID();
  const Box box = {at.x, at.y, at.x + width, at.y + height};
  canvas.fill(box, hovered ? ui.theme().hover : ui.theme().raised, ui.px(5));
  canvas.push_clip({box.x0, box.y0, box.x1 - ui.px(6), box.y1});
  float y = at.y + ui.px(8);
  for (const CodeLine& line : lines) {
    for (const CodeRow& row : line.rows) {
      const float indent = row.begin > 0 ? letter * static_cast<float>(kCodeIndent) : 0;
      draw_line(canvas, ui.theme(), at.x + ui.px(10) + indent, y, line.text, line.pieces, Face::mono_small,
                row);
      y += row_height;
    }
  }
  canvas.pop_clip();
}

void draw_table(Ui& ui, const MarkdownBlock& block, int number) {
  if (block.rows.empty() || block.rows.front().empty()) return;
  const int columns = static_cast<int>(std::min<std::size_t>(16, block.rows.front().size()));
  const ImGuiTableFlags flags = ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingStretchProp;
  ImGui::PushID(number);
  if (ImGui::BeginTable("table", columns, flags)) {
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      ImGui::TableNextRow();
      for (int c = 0; c < columns && c < static_cast<int>(block.rows[i].size()); ++c) {
        ImGui::TableSetColumnIndex(c);
        draw_spans(ui, block.rows[i][static_cast<std::size_t>(c)], 0, i == 0);
      }
    }
    ImGui::EndTable();
  }
  ImGui::PopID();
}

void draw_block(Ui& ui, const MarkdownBlock& block, int number, Requests& ask) {
  using Kind = MarkdownBlock::Kind;
  switch (block.kind) {
    case Kind::heading: {
      ui.gap(block.level <= 1 ? 0 : 6);
      std::string words;
      for (const TextSpan& span : block.spans) words += span.text;
      ui.wrapped(words, block.level <= 1 ? Face::title : Face::bold, ui.theme().text);
      return;
    }
    case Kind::item: {
      const float indent = ui.px(static_cast<float>(16 * std::max(1, block.level)));
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ui.canvas().text(at.x + indent - ui.px(14), at.y, block.marker, Face::text, ui.theme().dim);
      return draw_spans(ui, block.spans, indent + ui.px(4), false);
    }
    case Kind::code:
      return draw_code_block(ui, block, number, ask);
    case Kind::table:
      return draw_table(ui, block, number);
    case Kind::rule:
      return ImGui::Separator();
    case Kind::quote:
      return draw_spans(ui, block.spans, ui.px(16), false);
    case Kind::image:
      return ui.dim("picture: " + block.target);
    case Kind::paragraph:
      break;
  }
  draw_spans(ui, block.spans, 0, false);
}

/// Line numbers, ground of changed lines, coloured code.
void draw_code_line(Ui& ui, const DiffLine& line, const std::vector<ColouredPiece>& pieces, bool is_diff) {
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = canvas.line_height(Face::mono) + ui.px(4);
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
  const bool added = line.kind == DiffLine::Kind::added;
  const bool removed = line.kind == DiffLine::Kind::removed;
  if (added || removed)
    canvas.fill({at.x, at.y, right, at.y + height}, added ? theme.code.added : theme.code.removed);
  const int number = removed ? line.old_number : line.new_number;
  canvas.text(at.x + ui.px(40), at.y + ui.px(2), std::to_string(number), Face::mono_small,
              mixed(theme.panel, theme.dim, 0.7F), 1);
  if (is_diff)
    canvas.text(at.x + ui.px(48), at.y + ui.px(1), added ? "+" : removed ? "-" : "", Face::mono, theme.dim);
  const float x = at.x + ui.px(is_diff ? 62 : 54);
  draw_line(canvas, theme, x, at.y + ui.px(2), line.text, pieces, Face::mono, {0, line.text.size()});
  ImGui::Dummy({x - at.x + canvas.text_width(line.text, Face::mono) + ui.px(12), height});
}

std::vector<DiffLine> as_lines(const std::string& page) { return diff_lines(page, page); }

}  // namespace

Requests draw_lesson_page(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr) {
    ui.empty_state("No lesson", "Choose one on the left.");
    return ask;
  }
  if (!card->cannot_run.empty())
    ui.wrapped(card->info.name + " " + card->cannot_run, Face::small, ui.theme().warn);
  if (card->readme.empty()) {
    ui.dim("This lesson has no README yet.");
    return ask;
  }
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(9)});
  int number = 0;
  for (const MarkdownBlock& block : card->readme) draw_block(ui, block, number++, ask);
  ImGui::PopStyleVar();
  return ask;
}

Requests draw_code(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr || card->page.empty()) {
    ui.empty_state("No code", "This lesson has no main.cpp.");
    return ask;
  }
  const bool is_diff = !card->info.previous.empty();
  const std::vector<DiffLine> lines = is_diff ? card->diff : as_lines(card->page);
  int added = 0;
  int removed = 0;
  for (const DiffLine& line : lines) {
    added += line.kind == DiffLine::Kind::added ? 1 : 0;
    removed += line.kind == DiffLine::Kind::removed ? 1 : 0;
  }
  ui.text("lessons/" + card->info.name + "/main.cpp", Face::bold);
  ImGui::SameLine();
  ui.text(is_diff ? fmt::format("against {}: {} lines more, {} less", card->info.previous, added, removed)
                  : "the first of the ladder: every later lesson is a difference to this page",
          Face::small, ui.theme().dim);
  ui.gap(2);
  ImGui::BeginChild("page", {0, 0}, true,
                    ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ColourState old_state;
  ColourState new_state;
  for (const DiffLine& line : lines) {
    ColourState& colouring = line.kind == DiffLine::Kind::removed ? old_state : new_state;
    const std::vector<ColouredPiece> pieces = colour_cpp(line.text, colouring);
    if (line.kind == DiffLine::Kind::same) old_state = new_state;
    draw_code_line(ui, line, pieces, is_diff);
  }
  ImGui::PopStyleVar();
  ImGui::EndChild();
  return ask;
}

}  // namespace isobar
