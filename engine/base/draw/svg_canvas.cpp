#include "draw/svg_canvas.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "draw/colour.h"
#include "record/png.h"

namespace isobar {
namespace {

constexpr float kEm = 0.84F;  // in heights of a line

/// Widths of Inter's letters from space to ~ in hundredths of an em.
constexpr std::array<std::uint8_t, 95> kWidths = {
    28, 28, 40, 63, 64, 81, 64, 22, 36, 36, 50, 66, 28, 46, 28, 36, 62, 46, 61, 64, 64, 61, 62, 57,
    62, 62, 28, 28, 66, 66, 66, 51, 94, 68, 65, 73, 72, 60, 59, 74, 74, 26, 54, 65, 56, 89, 75, 76,
    63, 76, 64, 64, 64, 74, 68, 95, 64, 66, 62, 36, 36, 36, 47, 45, 50, 56, 62, 56, 62, 58, 36, 61,
    59, 24, 24, 54, 24, 87, 59, 60, 61, 61, 37, 52, 36, 58, 56, 81, 54, 56, 54, 36, 33, 36, 66};

std::string paint(const char* name, Colour colour) {
  const float alpha = alpha_of(colour);
  return alpha >= 1 ? fmt::format("{}=\"{}\"", name, hex_text(colour))
                    : fmt::format("{0}=\"{1}\" {0}-opacity=\"{2:.3g}\"", name, hex_text(colour), alpha);
}

std::string place_list(std::span<const PlotPoint> points) {
  std::string out;
  for (const PlotPoint& at : points) out += fmt::format("{:.1f},{:.1f} ", at.x, at.y);
  return out;
}

std::string place_of(const Box& box) {
  return fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", box.x0, box.y0,
                     box.width(), box.height());
}

bool is_mono(Face face) { return face == Face::mono || face == Face::mono_small; }
bool is_heavy(Face face) { return face == Face::bold || face == Face::title; }

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kLetters[word >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace

SvgCanvas::SvgCanvas(float width, float height, Colour ground, float scale) : scale_(scale) {
  head_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" {3}>\n<rect width=\"100%\" height=\"100%\" {2}/>\n",
      width, height, paint("fill", ground), kSvgMark);
}

void SvgCanvas::describe(std::string_view title, std::string_view words) {
  const std::string element =
      fmt::format("<title>{}</title>\n<desc>{}</desc>\n", xml_escaped(title), xml_escaped(words));
  head_.insert(head_.find('\n') + 1, element);
  head_.insert(head_.find(' '), " role=\"img\"");
}

void SvgCanvas::line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) {
  if (points.size() == 1) return circle(points.front(), width, colour, true);
  const char* const dashes = dash == Dash::dashed   ? " stroke-dasharray=\"6 4\""
                             : dash == Dash::dotted ? " stroke-dasharray=\"1.5 3.5\""
                                                    : "";
  body_ += fmt::format(
      "<polyline fill=\"none\" {} stroke-width=\"{:.3g}\"{} stroke-linejoin=\"round\" points=\"{}\"/>\n",
      paint("stroke", colour), width, dashes, place_list(points));
}

void SvgCanvas::fill(const Box& box, Colour colour, float rounding) {
  body_ += fmt::format("<rect {} rx=\"{:.1f}\" {}/>\n", place_of(box), rounding, paint("fill", colour));
}

void SvgCanvas::frame(const Box& box, Colour colour) {
  body_ += fmt::format("<rect {} fill=\"none\" {}/>\n", place_of(box), paint("stroke", colour));
}

void SvgCanvas::polygon(std::span<const PlotPoint> points, Colour colour) {
  body_ += fmt::format("<polygon points=\"{}\" {}/>\n", place_list(points), paint("fill", colour));
}

void SvgCanvas::band(std::span<const BandPoint> points, Colour colour) {
  std::vector<PlotPoint> around;
  for (const BandPoint& at : points) around.push_back({at.x, at.high});
  for (auto at = points.rbegin(); at != points.rend(); ++at) around.push_back({at->x, at->low});
  polygon(around, colour);
}

void SvgCanvas::circle(PlotPoint at, float radius, Colour colour, bool filled) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", at.x, at.y, radius,
                       filled ? paint("fill", colour) : "fill=\"none\" " + paint("stroke", colour));
}

void SvgCanvas::text(float x, float y, std::string_view words, Face face, Colour colour, float across) {
  const char* const anchor = across <= 0 ? "start" : across >= 1 ? "end" : "middle";
  const float size = line_height(face);
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"{}\"{}{} {}>{}</text>\n", x,
      y + size * 0.82F, size * kEm, anchor, is_heavy(face) ? " font-weight=\"600\"" : "",
      is_mono(face) ? " font-family=\"JetBrains Mono, monospace\"" : "", paint("fill", colour),
      xml_escaped(words));
}

float SvgCanvas::text_width(std::string_view words, Face face) const {
  int hundredths = 0;
  for (const char c : words) {
    const auto code = static_cast<unsigned char>(c);
    if ((code & 0xc0U) == 0x80U) continue;  // the rest of a letter
    hundredths +=
        code >= ' ' && code <= '~' && !is_mono(face) ? kWidths[static_cast<std::size_t>(code - ' ')] : 60;
  }
  return line_height(face) * kEm * static_cast<float>(hundredths) / 100 * (is_heavy(face) ? 1.05F : 1);
}

void SvgCanvas::picture(const Box& box, const std::shared_ptr<const Picture>& picture) {
  const std::string png = encode_png(picture->rgba, picture->height, picture->width, 4);
  body_ += fmt::format("<image {} preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/>\n",
                       place_of(box), base64(png));
}

void SvgCanvas::push_clip(const Box& box) {
  ++clips_;
  body_ += fmt::format("<clipPath id=\"c{0}\"><rect {1}/></clipPath><g clip-path=\"url(#c{0})\">\n", clips_,
                       place_of(box));
}

void SvgCanvas::pop_clip() { body_ += "</g>\n"; }

std::string SvgCanvas::text() const { return head_ + body_ + "</svg>\n"; }

}  // namespace isobar
