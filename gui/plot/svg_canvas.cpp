#include "plot/svg_canvas.h"

#include <fmt/format.h>

#include "core/text.h"
#include "plot/colour.h"
#include "record/png.h"

namespace isobar {
namespace {

std::string paint(const char* name, ImU32 colour) {
  const float alpha = alpha_of(colour);
  return alpha >= 1 ? fmt::format("{}=\"{}\"", name, hex_text(colour))
                    : fmt::format("{0}=\"{1}\" {0}-opacity=\"{2:.3g}\"", name, hex_text(colour), alpha);
}

std::string place_list(std::span<const PlotPoint> points) {
  std::string out;
  for (const PlotPoint& at : points) out += fmt::format("{:.1f},{:.1f} ", at.x, at.y);
  return out;
}

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

SvgCanvas::SvgCanvas(float width, float height, ImU32 ground, const Fonts& fonts) : Canvas(fonts) {
  head_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"Inter, system-ui, sans-serif\">\n<rect width=\"100%\" "
      "height=\"100%\" {2}/>\n",
      width, height, paint("fill", ground));
}

void SvgCanvas::line(std::span<const PlotPoint> points, ImU32 colour, float width, Dash dash) {
  if (points.size() == 1) return circle(points.front(), width, colour, true);
  const char* const dashes = dash == Dash::dashed   ? " stroke-dasharray=\"6 4\""
                             : dash == Dash::dotted ? " stroke-dasharray=\"1.5 3.5\""
                                                    : "";
  body_ += fmt::format(
      "<polyline fill=\"none\" {} stroke-width=\"{:.2g}\"{} stroke-linejoin=\"round\" points=\"{}\"/>\n",
      paint("stroke", colour), width, dashes, place_list(points));
}

void SvgCanvas::fill(const Box& box, ImU32 colour, float rounding) {
  body_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\" {}/>\n",
                  box.x0, box.y0, box.width(), box.height(), rounding, paint("fill", colour));
}

void SvgCanvas::frame(const Box& box, ImU32 colour) {
  body_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" {}/>\n",
                  box.x0, box.y0, box.width(), box.height(), paint("stroke", colour));
}

void SvgCanvas::polygon(std::span<const PlotPoint> points, ImU32 colour) {
  body_ += fmt::format("<polygon points=\"{}\" {}/>\n", place_list(points), paint("fill", colour));
}

void SvgCanvas::circle(PlotPoint at, float radius, ImU32 colour, bool filled) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", at.x, at.y, radius,
                       filled ? paint("fill", colour) : "fill=\"none\" " + paint("stroke", colour));
}

void SvgCanvas::text(float x, float y, std::string_view words, Face face, ImU32 colour, float across) {
  const char* const anchor = across <= 0 ? "start" : across >= 1 ? "end" : "middle";
  const bool mono = face == Face::mono || face == Face::mono_small;
  const bool heavy = face == Face::bold || face == Face::title;
  const float size = line_height(face);
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"{}\"{}{} {}>{}</text>\n", x,
      y + size * 0.82F, size * 0.84F, anchor, heavy ? " font-weight=\"600\"" : "",
      mono ? " font-family=\"JetBrains Mono, monospace\"" : "", paint("fill", colour), xml_escaped(words));
}

void SvgCanvas::picture(const Box& box, const std::shared_ptr<const Picture>& picture) {
  const std::string png = encode_png(picture->rgba, picture->height, picture->width, 4);
  body_ += fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" preserveAspectRatio=\"none\" "
      "href=\"data:image/png;base64,{}\"/>\n",
      box.x0, box.y0, box.width(), box.height(), base64(png));
}

void SvgCanvas::push_clip(const Box& box) {
  ++clips_;
  body_ += fmt::format(
      "<clipPath id=\"c{0}\"><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" "
      "height=\"{4:.1f}\"/></clipPath>"
      "<g clip-path=\"url(#c{0})\">\n",
      clips_, box.x0, box.y0, box.width(), box.height());
}

void SvgCanvas::pop_clip() { body_ += "</g>\n"; }

std::string SvgCanvas::text() const { return head_ + body_ + "</svg>\n"; }

}  // namespace isobar
