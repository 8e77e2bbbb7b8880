#pragma once
// Colours as ImGui packs them, and how well two of them can be told apart.
#include <imgui.h>

#include <cstdint>
#include <string>

namespace isobar {

/// 0xRRGGBB as an opaque colour.
constexpr ImU32 rgb(std::uint32_t hex) {
  return IM_COL32(hex >> 16 & 255U, hex >> 8 & 255U, hex & 255U, 255);
}

ImU32 with_alpha(ImU32 colour, float alpha);

/// `part` of `other`, the rest of `colour`.
ImU32 mixed(ImU32 colour, ImU32 other, float part);

/// Contrast ratio of WCAG 2.1 (https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio): 1 to 21.
double contrast(ImU32 one, ImU32 other);

/// `colour` with its lightness moved away from `ground` until their contrast is at least `ratio`.
ImU32 readable(ImU32 colour, ImU32 ground, double ratio);

/// "#3b82f6"
std::string hex_text(ImU32 colour);

inline float alpha_of(ImU32 colour) { return static_cast<float>(colour >> IM_COL32_A_SHIFT & 255U) / 255.0F; }

}  // namespace isobar
