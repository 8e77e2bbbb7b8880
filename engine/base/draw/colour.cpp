#include "draw/colour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/stage.h"

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

// The hues of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind people see as different
// too.
constexpr std::array<std::uint32_t, 8> kHues = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7,
                                                0xd55e00, 0xf0e442, 0x0072b2, 0x8c8f96};
constexpr std::array<std::uint32_t, 8> kStageHues = {0xe69f00, 0xf0e442, 0x56b4e9, 0x0072b2,
                                                     0xd55e00, 0x009e73, 0xcc79a7, 0x8c8f96};

Theme make_theme(bool dark) {
  Theme t;
  t.dark = dark;
  t.ground = rgb(dark ? 0x16181d : 0xf3f4f6);
  t.panel = rgb(dark ? 0x1e2127 : 0xffffff);
  t.raised = rgb(dark ? 0x292d35 : 0xeceef1);
  t.line = rgb(dark ? 0x343942 : 0xd9dde3);
  t.text = rgb(dark ? 0xe6e8eb : 0x1b1e23);
  t.dim = rgb(dark ? 0x9aa1ab : 0x5b6470);
  t.accent = rgb(0x3b82f6);
  t.on_accent = rgb(0xffffff);
  t.hover = rgb(dark ? 0x2f343d : 0xe4e7eb);
  t.selected = mixed(t.panel, t.accent, dark ? 0.28F : 0.16F);
  t.good = readable(rgb(0x2fa36b), t.panel, 4.5);
  t.bad = readable(rgb(0xe5484d), t.panel, 4.5);
  t.warn = readable(rgb(0xd9961a), t.panel, 4.5);
  for (std::size_t i = 0; i < kHues.size(); ++i) t.series[i] = readable(rgb(kHues[i]), t.panel, 3.2);
  for (std::size_t i = 0; i < kStageHues.size(); ++i)
    t.stages[i] = readable(rgb(kStageHues[i]), t.panel, 3.0);
  const auto ink = [&](std::uint32_t hex) { return readable(rgb(hex), t.panel, 4.5); };
  t.code = {ink(0xb583e0),
            ink(0x4fb6c2),
            ink(0xd58a3a),
            ink(0x6aa84f),
            t.dim,
            ink(0xc678b4),
            ink(0x5b9bf0),
            mixed(t.panel, t.good, dark ? 0.22F : 0.14F),
            mixed(t.panel, t.bad, dark ? 0.24F : 0.12F)};
  return t;
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

const Theme& theme_of(bool dark) {
  static const Theme light_theme = make_theme(false);
  static const Theme dark_theme = make_theme(true);
  return dark ? dark_theme : light_theme;
}

Colour stage_colour(const Theme& theme, std::string_view stage) {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (stage == kStageNames[i]) return theme.stages[i];
  }
  return theme.stages.back();
}

}  // namespace isobar
