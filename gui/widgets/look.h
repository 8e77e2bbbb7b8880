#pragma once
// Fonts and distances: one place, so that every panel looks like the others.
#include <imgui.h>

#include <array>
#include <string>

#include "draw/canvas.h"

namespace isobar {

/// The faces in use, at the size of this scale. Built again when the scale changes, never stretched.
struct Fonts {
  std::array<ImFont*, 6> faces{};
  float scale = 1;

  ImFont* of(Face face) const { return faces[static_cast<std::size_t>(face)]; }
};

/// Fills the font atlas of the current ImGui context.
Fonts build_fonts(float scale);

/// Sets ImGui's style to the theme at this scale.
void apply_style(const Theme& theme, float scale);

}  // namespace isobar
