#pragma once
// Colours, how different two of them look, and those of everything that is drawn, in the window and
// in files.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace isobar {

/// 0xAABBGGRR: red is the first byte in memory, which is how ImGui packs colours too.
using Colour = std::uint32_t;

inline constexpr int kRShift = 0, kGShift = 8, kBShift = 16, kAShift = 24;
inline constexpr Colour kWhite = 0xffffffff, kBlack = 0xff000000;

/// 0xRRGGBB as an opaque colour.
constexpr Colour rgb(std::uint32_t hex) {
  return kBlack | (hex & 255U) << kBShift | (hex & 0xff00U) | (hex >> 16 & 255U);
}

Colour with_alpha(Colour colour, float alpha);

/// `part` of `other`, the rest of `colour`.
Colour mixed(Colour colour, Colour other, float part);

/// Contrast ratio of WCAG 2.1 (https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio): 1 to 21.
double contrast(Colour one, Colour other);

/// `colour` with its lightness moved away from `ground` until their contrast is at least `ratio`.
Colour readable(Colour colour, Colour ground, double ratio);

/// White or black: the one that can be read on `ground`.
Colour ink_on(Colour ground);

/// "#3b82f6"
std::string hex_text(Colour colour);

inline float alpha_of(Colour colour) { return static_cast<float>(colour >> kAShift & 255U) / 255.0F; }

struct Theme {
  bool dark = true;
  Colour ground, panel, raised, line, text, dim, accent, on_accent, good, bad, warn, hover, selected;
  std::array<Colour, 8> series;  ///< contrast of at least 3 on `panel`
  std::array<Colour, 8> stages;  ///< load, copy, forward, backward, comm, optimize, replay, rest
  struct Code {
    Colour keyword, type, number, string, comment, preprocessor, call;
    Colour added, removed;  ///< grounds of changed lines
  } code;
};

const Theme& theme_of(bool dark);

/// Colour of a stage of a step ("rest" for what is none).
Colour stage_colour(const Theme& theme, std::string_view stage);

}  // namespace isobar
