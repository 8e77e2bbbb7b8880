#include "plot/colour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

double channel(ImU32 colour, int shift) { return static_cast<double>(colour >> shift & 255U) / 255.0; }

double linear(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(ImU32 colour) {
  return 0.2126 * linear(channel(colour, IM_COL32_R_SHIFT)) +
         0.7152 * linear(channel(colour, IM_COL32_G_SHIFT)) +
         0.0722 * linear(channel(colour, IM_COL32_B_SHIFT));
}

ImU32 blend(ImU32 one, ImU32 other, float part, int shift) {
  const double value =
      channel(one, shift) + (channel(other, shift) - channel(one, shift)) * static_cast<double>(part);
  return static_cast<ImU32>(std::lround(std::clamp(value, 0.0, 1.0) * 255)) << shift;
}

}  // namespace

ImU32 with_alpha(ImU32 colour, float alpha) {
  const auto value = static_cast<ImU32>(std::lround(std::clamp(alpha, 0.0F, 1.0F) * 255.0F));
  return (colour & ~IM_COL32_A_MASK) | value << IM_COL32_A_SHIFT;
}

ImU32 mixed(ImU32 colour, ImU32 other, float part) {
  return blend(colour, other, part, IM_COL32_R_SHIFT) | blend(colour, other, part, IM_COL32_G_SHIFT) |
         blend(colour, other, part, IM_COL32_B_SHIFT) | (colour & IM_COL32_A_MASK);
}

double contrast(ImU32 one, ImU32 other) {
  const double a = luminance(one);
  const double b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

ImU32 readable(ImU32 colour, ImU32 ground, double ratio) {
  const ImU32 away = luminance(ground) < 0.2 ? IM_COL32_WHITE : IM_COL32_BLACK;
  ImU32 out = colour;
  for (int step = 1; step <= 50 && contrast(out, ground) < ratio; ++step) {
    out = mixed(colour, away, static_cast<float>(step) * 0.02F);
  }
  return out;
}

std::string hex_text(ImU32 colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour >> IM_COL32_R_SHIFT & 255U,
                     colour >> IM_COL32_G_SHIFT & 255U, colour >> IM_COL32_B_SHIFT & 255U);
}

}  // namespace isobar
