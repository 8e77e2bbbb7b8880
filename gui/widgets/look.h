#pragma once
// Fonts and distances: one place, so that every panel looks like the others.
#include <imgui.h>

#include <string>

#include "draw/canvas.h"

namespace isobar {

/// The faces in use, at the size of this scale. Built again when the scale changes, never stretched.
struct Fonts {
  ImFont* text = nullptr;
  ImFont* bold = nullptr;
  ImFont* small = nullptr;
  ImFont* title = nullptr;
  ImFont* mono = nullptr;
  ImFont* mono_small = nullptr;
  float scale = 1;
  std::string problem;  ///< why ImGui's own font is in use; "" = it is not
};

ImFont* font_of(const Fonts& fonts, Face face);

/// Fills the font atlas of the current ImGui context.
Fonts build_fonts(float scale);

/// Sets ImGui's style to the theme at this scale.
void apply_style(const Theme& theme, float scale);

}  // namespace isobar
