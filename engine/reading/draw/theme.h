#pragma once
// The colours of everything that is drawn, in the window and in files.
#include <array>
#include <string_view>

#include "draw/colour.h"

namespace isobar {

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
