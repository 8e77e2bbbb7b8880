#include "draw/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/colour.h"

namespace isobar {
namespace {

constexpr float kTitle = 34, kTerm = 22, kInset = 12;

std::string ms_text(double us, bool with_sign) {
  const double ms = us * 1e-3;
  const int digits = std::fabs(ms) >= 100 ? 0 : std::fabs(ms) >= 10 ? 1 : 2;
  return with_sign ? fmt::format("{:+.{}f} ms", ms, digits) : fmt::format("{:.{}f} ms", ms, digits);
}

}  // namespace

float waterfall_height(const WaterfallSpec& spec, const Canvas& canvas) {
  return canvas.scale() * (kTitle + kTerm * static_cast<float>(spec.terms.size() + 2) + 8);
}

void paint_waterfall(Canvas& canvas, const Theme& theme, const WaterfallSpec& spec, const Box& box) {
  const float s = canvas.scale();
  canvas.text(box.x0 + kInset * s, box.y0 + 9 * s,
              canvas.fitted(spec.title, Face::bold, box.width() - 24 * s), Face::bold, theme.text);
  double most_us = std::max(spec.base_us, spec.other_us), at_us = spec.base_us;
  float names =
      std::max(canvas.text_width(spec.base, Face::small), canvas.text_width(spec.other, Face::small));
  for (const WaterfallTerm& term : spec.terms) {
    most_us = std::max(most_us, at_us += term.more_us);
    names = std::max(names, canvas.text_width(term.stage, Face::small));
  }
  if (!(most_us > 0)) return;
  names = std::min(names, box.width() * 0.3F);
  const float left = box.x0 + kInset * s + names + 14 * s;
  const float right = box.x1 - kInset * s - canvas.text_width("+1234.5 ms", Face::small) - 10 * s;
  const auto x_of = [&](double us) {
    return left + static_cast<float>(us / most_us) * std::max(8 * s, right - left);
  };
  float y = box.y0 + kTitle * s;
  const auto row = [&](const std::string& name, double from_us, double to_us, const std::string& words,
                       Colour colour, Face face) {
    canvas.text(left - 14 * s, y + 3 * s, canvas.fitted(name, face, names + 1), face, theme.text, 1);
    const float x0 = x_of(std::min(from_us, to_us));
    canvas.fill({x0, y + 4 * s, std::max(x0 + 1.5F * s, x_of(std::max(from_us, to_us))), y + 18 * s}, colour,
                2 * s);
    canvas.text(box.x1 - kInset * s, y + 3 * s, words, Face::small, theme.text, 1);
    y += kTerm * s;
    if (to_us <= 0) return;
    const PlotPoint down[] = {{x_of(to_us), y - 4 * s}, {x_of(to_us), y + 4 * s}};
    canvas.line(down, theme.dim, 1, Dash::solid);
  };
  row(spec.base, 0, spec.base_us, ms_text(spec.base_us, false), spec.base_colour, Face::small);
  at_us = spec.base_us;
  for (const WaterfallTerm& term : spec.terms) {
    row(term.stage, at_us, at_us + term.more_us, ms_text(term.more_us, true), stage_colour(theme, term.stage),
        Face::small);
    at_us += term.more_us;
  }
  row(spec.other, 0, spec.other_us, ms_text(spec.other_us, false), spec.other_colour, Face::small);
}

std::string waterfall_csv(const WaterfallSpec& spec) {
  std::string out = fmt::format("term,us\n\"base\",{}\n", spec.base_us);
  for (const WaterfallTerm& term : spec.terms) out += fmt::format("\"{}\",{}\n", term.stage, term.more_us);
  return out + fmt::format("\"other\",{}\n", spec.other_us);
}

}  // namespace isobar
