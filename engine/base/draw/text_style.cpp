#include "draw/text_style.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "core/live_terminal.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/console.h"

namespace isobar {

std::uint32_t ascii_of(unsigned dots) {
  struct Shape {
    unsigned dots;
    char letter;
  };
  static constexpr std::array<Shape, 17> kShapes = {{{0x0c, '-'},
                                                     {0x30, '-'},
                                                     {0xc0, '_'},
                                                     {0x03, '\''},
                                                     {0x01, '\''},
                                                     {0x02, '\''},
                                                     {0x04, '-'},
                                                     {0x08, '-'},
                                                     {0x10, '-'},
                                                     {0x20, '-'},
                                                     {0x40, '.'},
                                                     {0x80, '.'},
                                                     {0x55, '|'},
                                                     {0xaa, '|'},
                                                     {0x5a, '/'},
                                                     {0xa5, '\\'},
                                                     {0xff, '#'}}};
  return static_cast<std::uint32_t>(std::ranges::min_element(kShapes, {}, [&](const Shape& one) {
                                      return std::popcount(one.dots ^ dots);
                                    })->letter);
}

std::uint32_t braille_of(unsigned dots) {
  static constexpr std::array<unsigned, 8> kBits = {1, 8, 2, 16, 4, 32, 64, 128};
  std::uint32_t out = 0x2800;
  for (unsigned i = 0; i < kBits.size(); ++i) out += (dots >> i & 1U) * kBits[i];
  return out;
}

std::uint32_t mark_letter(Mark mark, bool ascii) {
  static constexpr std::array<std::uint32_t, 10> kMarks = {0x25cf, 0x25a0, 0x25b2, 0x25c6, 0x25bc,
                                                           0x00d7, 0x25cb, '*',    0x25a1, 0};
  const auto at = static_cast<std::size_t>(mark);
  return ascii ? static_cast<std::uint32_t>("o#^*vxO+H\0"[at]) : kMarks[at];
}

/// Letters that are two columns wide would move those behind them.
std::uint32_t shown_letter(std::uint32_t code, bool ascii) {
  if (code < 0x7f) return code;
  if (ascii) return code == 0x2026 ? '~' : code == 0xb5 || code == 0x3bc ? 'u' : code == 0xd7 ? 'x' : '?';
  return code < 0x1100 || (code >= 0x2000 && code < 0x2c00) ? code : '?';
}

std::vector<std::uint32_t> letters_of(std::string_view words) {
  std::vector<std::uint32_t> out;
  while (!words.empty()) {
    const std::size_t length = utf8_length(words);
    const std::uint32_t code = length == 0 ? '?' : code_point(words, length);
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);  // a name may hold anything
    out.push_back(is_control ? '?' : code);
    words.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

int channel_of(Colour colour, int shift) { return static_cast<int>(colour >> shift & 255U); }

std::string colour_code(int kind, Colour colour, TextStyle::Colours colours) {
  const std::array<int, 3> c = {channel_of(colour, kRShift), channel_of(colour, kGShift),
                                channel_of(colour, kBShift)};
  if (colours == TextStyle::Colours::all) return fmt::format("{};2;{};{};{}", kind, c[0], c[1], c[2]);
  const auto level = [](int value) { return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40; };
  const auto value = [](int at) { return at == 0 ? 0 : 55 + 40 * at; };
  const int grey = std::clamp(((c[0] + c[1] + c[2]) / 3 - 3) / 10, 0, 23);
  int off_cube = 0, off_grey = 0;
  for (const int one : c) {
    off_cube += std::abs(one - value(level(one)));
    off_grey += std::abs(one - (8 + 10 * grey));
  }
  const int at = off_grey < off_cube ? 232 + grey : 16 + 36 * level(c[0]) + 6 * level(c[1]) + level(c[2]);
  return fmt::format("{};5;{}", kind, at);
}

TextStyle text_style(const std::function<const char*(const char*)>& variable, bool is_terminal,
                     std::size_t columns) {
  const auto value = [&](const char* name) {
    const char* const found = variable(name);
    return std::string(found == nullptr ? "" : found);
  };
  const std::string wide = value("ISOBAR_COLUMNS");  // a terminal that another program writes to
  TextStyle out{.columns = wide.empty() ? columns : std::strtoul(wide.c_str(), nullptr, 10)};
  const std::string asked = value("ISOBAR_PICTURES"), kind = value("TERM");
  std::string locale;
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"})
    locale = locale.empty() ? value(name) : locale;
  locale = lowered(locale);
  const bool is_utf8 = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  if (!is_utf8 || kind == "linux") out.glyphs = TextStyle::Glyphs::ascii;
  if (kind == "dumb") out.glyphs = TextStyle::Glyphs::words;
  if (asked == "words") out.glyphs = TextStyle::Glyphs::words;
  if (asked == "ascii") out.glyphs = TextStyle::Glyphs::ascii;
  if (asked == "braille") out.glyphs = TextStyle::Glyphs::braille;
  if (is_terminal && value("NO_COLOR").empty() && kind != "dumb") {
    const std::string depth = value("COLORTERM");
    out.colours =
        is_one_of(depth, {"truecolor", "24bit"}) ? TextStyle::Colours::all : TextStyle::Colours::few;
  }
  const std::string ground = value("COLORFGBG");
  out.dark = !(ground.ends_with(";7") || ground.ends_with(";15"));
  out.chart_rows = out.columns < 60 ? 9 : 12;
  return out;
}

TextStyle terminal_style() {
  return text_style([](const char* name) { return std::getenv(name); }, is_live_terminal(STDOUT_FILENO),
                    terminal_columns());
}

}  // namespace isobar
