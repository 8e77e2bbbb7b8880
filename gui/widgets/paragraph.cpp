#include "widgets/paragraph.h"

#include <algorithm>
#include <cctype>

#include "draw/colour.h"

namespace isobar {
namespace {

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
      add_word(span, std::string_view(span.text).substr(begin, end - begin), face, colour);
      begin = end;
    }
    end_stretch(span);
  }

  std::string finish() {
    ImGui::SetCursorScreenPos({begin_.x, begin_.y});
    ImGui::Dummy({1, y_ - begin_.y + height_of_line()});
    return clicked_;
  }

 private:
  float height(Face face) const { return canvas_.line_height(face); }
  float height_of_line() const { return canvas_.line_height(Face::text) + ui_.px(3); }

  void new_line() {
    x_ = begin_.x;
    y_ += height_of_line();
  }

  void add_word(const TextSpan& span, std::string_view word, Face face, Colour colour) {
    const bool clings = word.size() == 1 && std::ispunct(static_cast<unsigned char>(word.front())) != 0;
    if (x_ + canvas_.text_width(word, face) > right_ && x_ > begin_.x && !clings) {
      end_stretch(span);
      new_line();
    }
    const std::string_view shown = x_ == begin_.x && word.front() == ' ' ? word.substr(1) : word;
    const float width = canvas_.text_width(shown, face);
    const float lead = !shown.empty() && shown.front() == ' ' ? canvas_.text_width(" ", face) : 0;
    if (span.code) {  // blanks within code are of it
      canvas_.fill({x_ - ui_.px(1), y_, x_ + width + ui_.px(1), y_ + height(face) + ui_.px(1)},
                   ui_.theme().raised, ui_.px(3));
    }
    canvas_.text(x_, y_ + (height_of_line() - height(face)) / 2, shown, face, colour);
    if (stretch_.width() <= 0) stretch_ = {x_ + lead, y_, x_ + lead, y_ + height_of_line()};
    x_ += width;
    stretch_.x1 = x_;
  }

  /// What of a span stands in one line: a place to click, or to ask for a meaning.
  void end_stretch(const TextSpan& span) {
    const Box box = stretch_;
    stretch_ = {};
    if (box.width() <= 0 || (span.link.empty() && span.note.empty())) return;
    const auto underline = [&](Colour colour, Dash dash) {
      const float y = box.y1 - ui_.px(3);
      paint_stroke(canvas_, {box.x0, y}, {box.x1, y}, colour, ui_.px(1), dash);
    };
    if (span.link.empty()) {
      underline(ui_.theme().dim, Dash::dotted);
      ui_.record("word " + span.text, box);
      if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(least_of(box), most_of(box)))
        show_note(span);
      return;
    }
    ImGui::SetCursorScreenPos(least_of(box));
    ImGui::PushID(++links_);
    const Area at = ui_.area("link " + span.link, {box.width(), box.height()});
    if (at.clicked) clicked_ = span.link;
    if (at.hovered) {
      underline(readable(ui_.theme().accent, ui_.theme().panel, 4.5), Dash::solid);
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    ui_.tip(span.link);
    ImGui::PopID();
  }

  void show_note(const TextSpan& span) {
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(ui_.px(360));
    ui_.text(span.note, Face::small);
    ui_.record("meaning of " + span.text);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }

  Ui& ui_;
  ImGuiCanvas canvas_;
  ImVec2 begin_;
  float right_ = 0, x_ = 0, y_ = 0;
  Box stretch_;
  int links_ = 0;
  std::string clicked_;
};

/// The inks of each Shade, from keyword on.
constexpr Colour Theme::Code::*kInks[] = {
    &Theme::Code::keyword, &Theme::Code::type,         &Theme::Code::number, &Theme::Code::string,
    &Theme::Code::comment, &Theme::Code::preprocessor, &Theme::Code::call};

Colour shade_colour(const Theme& theme, Shade shade) {
  return shade == Shade::plain ? theme.text : theme.code.*kInks[static_cast<std::size_t>(shade) - 1];
}

}  // namespace

std::string show_spans(Ui& ui, const std::vector<TextSpan>& spans, float indent, bool strong) {
  const Theme& theme = ui.theme();
  const Colour link = readable(theme.accent, theme.panel, 4.5);
  Paragraph paragraph(ui, indent);
  for (const TextSpan& span : spans) {
    const Face face = span.code ? Face::mono_small : span.bold || strong ? Face::bold : Face::text;
    paragraph.add(span, face, !span.link.empty() ? link : theme.text);
  }
  return paragraph.finish();
}

void paint_code(Canvas& canvas, const Theme& theme, PlotPoint at, std::string_view line,
                const std::vector<ColouredPiece>& pieces, Face face, const CodeRow& row) {
  float x = at.x;
  for (const ColouredPiece& piece : pieces) {
    const std::size_t begin = std::max<std::size_t>(piece.begin, row.begin);
    const std::size_t end = std::min<std::size_t>(piece.end, row.end);
    if (begin >= end) continue;
    const std::string_view part = line.substr(begin, end - begin);
    canvas.text(x, at.y, part, face, shade_colour(theme, piece.shade));
    x += canvas.text_width(part, face);
  }
}

}  // namespace isobar
