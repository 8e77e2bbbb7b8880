#pragma once
// Colours, fonts and distances: one place, so that every panel looks like the others.
#include <imgui.h>

#include <array>
#include <string>
#include <string_view>

namespace isobar {

struct Theme {
  bool dark = true;
  ImU32 ground, panel, raised, line, text, dim, accent, on_accent, good, bad, warn, hover, selected;
  std::array<ImU32, 8> series;  ///< contrast of at least 3 on `panel`
  std::array<ImU32, 8> stages;  ///< load, copy, forward, backward, comm, optimize, replay, rest
  struct Code {
    ImU32 keyword, type, number, string, comment, preprocessor, call;
    ImU32 added, removed;  ///< grounds of changed lines
  } code;
};

const Theme& theme_of(bool dark);

/// Colour of a stage of a step ("rest" for what is none).
ImU32 stage_colour(const Theme& theme, std::string_view stage);

/// The faces in use, at the size of this scale. Built again when the scale changes, never stretched.
struct Fonts {
  ImFont* text = nullptr;        ///< 15 px
  ImFont* bold = nullptr;        ///< 15 px
  ImFont* small = nullptr;       ///< 13 px
  ImFont* title = nullptr;       ///< 20 px
  ImFont* mono = nullptr;        ///< 14 px, for code and columns of numbers
  ImFont* mono_small = nullptr;  ///< 12.5 px
  float scale = 1;
  std::string problem;  ///< why ImGui's own font is in use; "" = it is not
};

/// Fills the font atlas of the current ImGui context.
Fonts build_fonts(float scale);

/// Sets ImGui's style to the theme at this scale.
void apply_style(const Theme& theme, float scale);

}  // namespace isobar
