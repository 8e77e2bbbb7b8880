#pragma once
// What a terminal can show, and the letters that pictures are made of there.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

struct TextStyle {
  enum class Glyphs {
    braille,
    ascii,
    words  ///< no picture: one sentence in its place, for a dumb terminal or a reader that speaks
  };
  enum class Colours { none, few, all };  ///< few: the 256 of xterm

  Glyphs glyphs = Glyphs::braille;
  Colours colours = Colours::none;
  std::size_t columns = 80;
  std::size_t chart_rows = 12;  ///< most rows of the area of a chart
  bool dark = true;             ///< the ground of the terminal
};

/// From variables of the environment (null = not set). ISOBAR_PICTURES is "words", "ascii" or "braille";
/// without it TERM=dumb has words, a locale without UTF-8 and TERM=linux ASCII. Colour is for terminals
/// without NO_COLOR (https://no-color.org).
TextStyle text_style(const std::function<const char*(const char*)>& variable, bool is_terminal,
                     std::size_t columns);

/// The style of standard output.
TextStyle terminal_style();

/// The letter that is most like the dots of a cell; bit 2 y + x is the dot (x, y).
std::uint32_t ascii_of(unsigned dots);
std::uint32_t braille_of(unsigned dots);
/// 0 for Mark::none.
std::uint32_t mark_letter(Mark mark, bool ascii);
/// In place of a letter that a cell has no room for or ASCII does not have.
std::uint32_t shown_letter(std::uint32_t code, bool ascii);
std::vector<std::uint32_t> letters_of(std::string_view words);

int channel_of(Colour colour, int shift);
/// "38;5;N" or "38;2;R;G;B"; `kind` is 38 for a letter and 48 for its ground.
std::string colour_code(int kind, Colour colour, TextStyle::Colours colours);

}  // namespace isobar
