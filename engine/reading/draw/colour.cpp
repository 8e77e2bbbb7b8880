#include "draw/colour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

double channel(Colour colour, int shift) { return static_cast<double>(colour >> shift & 255U) / 255.0; }

double linear(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(Colour colour) {
  return 0.2126 * linear(channel(colour, kRShift)) + 0.7152 * linear(channel(colour, kGShift)) +
         0.0722 * linear(channel(colour, kBShift));
}

Colour blend(Colour one, Colour other, float part, int shift) {
  const double value =
      channel(one, shift) + (channel(other, shift) - channel(one, shift)) * static_cast<double>(part);
  return static_cast<Colour>(std::lround(std::clamp(value, 0.0, 1.0) * 255)) << shift;
}

}  // namespace

Colour with_alpha(Colour colour, float alpha) {
  const auto value = static_cast<Colour>(std::lround(std::clamp(alpha, 0.0F, 1.0F) * 255.0F));
  return (colour & ~kBlack) | value << kAShift;
}

Colour mixed(Colour colour, Colour other, float part) {
  return blend(colour, other, part, kRShift) | blend(colour, other, part, kGShift) |
         blend(colour, other, part, kBShift) | (colour & kBlack);
}

double contrast(Colour one, Colour other) {
  const double a = luminance(one);
  const double b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

Colour readable(Colour colour, Colour ground, double ratio) {
  const Colour away = luminance(ground) < 0.2 ? kWhite : kBlack;
  Colour out = colour;
  for (int step = 1; step <= 50 && contrast(out, ground) < ratio; ++step) {
    out = mixed(colour, away, static_cast<float>(step) * 0.02F);
  }
  return out;
}

Colour ink_on(Colour ground) { return contrast(ground, kWhite) > contrast(ground, kBlack) ? kWhite : kBlack; }

std::string hex_text(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour >> kRShift & 255U, colour >> kGShift & 255U,
                     colour >> kBShift & 255U);
}

}  // namespace isobar
