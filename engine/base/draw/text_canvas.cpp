#include "draw/text_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/find.h"
#include "core/utf8.h"

namespace isobar {
namespace {

constexpr int kAcross = 2, kDown = 4;  // dots of a cell
constexpr float kDot = 4;              // pixels
constexpr int kMostDotRows = 400 * kDown;
constexpr float kThin = 8;      // a filled area that is thinner is dots
constexpr float kFaint = 2.4F;  // contrast to the ground
constexpr Colour kFaintBit = 1U << kAShift;

constexpr std::array<std::uint32_t, 16> kQuadrants = {' ',    0x2598, 0x259d, 0x2580, 0x2596, 0x258c,
                                                      0x259e, 0x259b, 0x2597, 0x259a, 0x2590, 0x259c,
                                                      0x2584, 0x2599, 0x259f, 0x2588};
constexpr std::array<std::uint32_t, 8> kShades = {0x2592, 0x2591, 0x2593, 0x2571,
                                                  0x2572, 0x2573, 0x259a, 0x2588};
constexpr std::array<std::uint32_t, 8> kAsciiShades = {'=', ':', '#', '%', '/', '\\', '+', '*'};

/// The colour that most of these have; of as many the later one. 0 where there is none.
Colour most_of(const std::vector<Colour>& colours) {
  Colour out = 0;
  std::ptrdiff_t most = 0;
  for (const Colour one : colours) {
    const std::ptrdiff_t count = one == 0 ? 0 : std::ranges::count(colours, one);
    if (count >= most && count > 0) {
      most = count;
      out = one;
    }
  }
  return out;
}

bool is_within(std::span<const PlotPoint> points, PlotPoint at) {
  bool out = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlotPoint a = points[i], b = points[(i + 1) % points.size()];
    if ((a.y > at.y) != (b.y > at.y) && at.x < a.x + (b.x - a.x) * (at.y - a.y) / (b.y - a.y)) out = !out;
  }
  return out;
}

Box around(std::span<const PlotPoint> points) {
  Box out = {1e9F, 1e9F, -1e9F, -1e9F};
  for (const PlotPoint& at : points)
    out = {std::min(out.x0, at.x), std::min(out.y0, at.y), std::max(out.x1, at.x), std::max(out.y1, at.y)};
  return out;
}

/// What an area is where there is no colour: 0 for one that looks like the ground.
Colour area_without_colour(Colour area, const Theme& theme) {
  const auto [least, most] =
      std::minmax({channel_of(area, kRShift), channel_of(area, kGShift), channel_of(area, kBShift)});
  const double apart = contrast(area, theme.panel);
  return apart < (most - least < 30 ? 4 : 1.25) ? 0 : area;
}

/// Whole rows, as those are on which words in the middle of the box stand.
Box on_rows(Box box) {
  const float high = box.height(), rows = std::max(1.0F, std::floor(high / TextCanvas::kCellHigh + 0.4F));
  const float before =
      high < 14 ? 1.22F : 0;  // words beside a small one are that much higher than its middle
  const float middle = ((box.y0 + box.y1) / 2 - before) / TextCanvas::kCellHigh;
  box.y0 = std::floor(middle - (rows - 1) / 2) * TextCanvas::kCellHigh;
  box.y1 = box.y0 + rows * TextCanvas::kCellHigh;
  return box;
}

}  // namespace

struct TextCanvas::Look {
  std::uint32_t code = ' ';
  Colour colour = 0, ground = 0;
  bool bold = false;
};

TextCanvas::TextCanvas(const TextStyle& style) : style_(style), theme_(theme_of(style.dark)) {
  style_.columns = std::max<std::size_t>(1, style_.columns);
}

float TextCanvas::height_of(float wished) const {
  const float rows = std::clamp(std::round(wished / kCellHigh), 1.0F, static_cast<float>(style_.chart_rows));
  return rows * kCellHigh;
}

float TextCanvas::text_width(std::string_view words, Face) const {
  return static_cast<float>(letters_of(words).size()) * kCellWide;
}

Colour TextCanvas::over_ground(Colour colour) const {
  return mixed(theme_.panel, colour | kBlack, alpha_of(colour)) | kBlack;
}

bool TextCanvas::is_faint(Colour colour) const {
  return contrast(over_ground(colour), theme_.panel) < static_cast<double>(kFaint);
}

TextCanvas::Row* TextCanvas::row_at(int dot_y) {
  if (dot_y < 0 || dot_y >= kMostDotRows) return nullptr;
  const auto row = static_cast<std::size_t>(dot_y / kDown);
  const std::size_t dots = style_.columns * kAcross * kDown;
  while (rows_.size() <= row)
    rows_.push_back(
        {std::vector<Colour>(dots), std::vector<Colour>(dots), std::vector<Letter>(style_.columns)});
  return &rows_[row];
}

/// `colour` is opaque, or 0 for nothing.
void TextCanvas::dot(int x, int y, Colour colour, Layer layer) {
  const PlotPoint middle = {(static_cast<float>(x) + 0.5F) * kDot, (static_cast<float>(y) + 0.5F) * kDot};
  const auto shows = [&](const Box& clip) { return clip.contains(middle); };
  if (x < 0 || x >= static_cast<int>(style_.columns) * kAcross || !std::ranges::all_of(clips_, shows)) return;
  Row* const row = row_at(y);
  if (row == nullptr) return;
  const std::size_t at =
      static_cast<std::size_t>(x / kAcross * kAcross * kDown + y % kDown * kAcross + x % kAcross);
  if (layer == Layer::area) row->areas[at] = colour;
  if (layer == Layer::area || colour == 0) row->strokes[at] = 0;
  if (layer == Layer::stroke) row->strokes[at] = colour;
  if (layer == Layer::faint && row->strokes[at] == 0) row->strokes[at] = colour & ~kFaintBit;
}

void TextCanvas::fill_dots(const Box& box, const std::function<bool(PlotPoint)>& holds, Colour colour,
                           Layer layer) {
  const auto first = [](float at, float least) {
    return static_cast<int>(std::max(least, std::ceil(at / kDot - 0.5F)));
  };
  const float wide = width() / kDot;
  const int x0 = first(box.x0, 0), y0 = first(box.y0, 0);
  const int x1 = static_cast<int>(std::min(wide, std::ceil(box.x1 / kDot - 0.5F)));
  const int y1 = static_cast<int>(std::min<float>(kMostDotRows, std::ceil(box.y1 / kDot - 0.5F)));
  for (int y = y0; y < std::max(y1, y0 + 1); ++y) {
    for (int x = x0; x < std::max(x1, x0 + 1); ++x) {
      const PlotPoint middle = {(static_cast<float>(x) + 0.5F) * kDot, (static_cast<float>(y) + 0.5F) * kDot};
      if (!holds || holds(middle)) dot(x, y, colour, layer);
    }
  }
}

void TextCanvas::fill(const Box& box, Colour colour, float) {
  const bool is_thin = box.width() < kThin || box.height() < kThin;
  Colour area = over_ground(colour);
  const Box place = box.height() < 0.75F * kCellHigh ? box : on_rows(box);
  if (is_thin && alpha_of(colour) > 0.5F) {
    if (area != over_ground(theme_.line) && !is_faint(colour)) fill_dots(place, nullptr, area, Layer::stroke);
    return;
  }
  if (contrast(area, theme_.panel) < 1.02) area = 0;
  if (style_.colours == TextStyle::Colours::none && area != 0) {
    area = area_without_colour(area, theme_);
    if (area != 0 && !isobar::holds(patterns_, area)) patterns_.push_back(area);
  }
  fill_dots(place, nullptr, area, Layer::area);
}

void TextCanvas::frame(const Box& box, Colour colour) {
  if (over_ground(colour) == (theme_.panel | kBlack)) {  // a gap to the area beside
    const Box rows = on_rows(box);
    if (box.width() >= 3 * kDot)
      fill_dots({rows.x0, rows.y0, rows.x0 + kDot, rows.y1}, nullptr, 0, Layer::area);
    return;
  }
  if (style_.colours != TextStyle::Colours::none || box.height() < kCellHigh) return;
  const PlotPoint top[2] = {{box.x0, box.y0}, {box.x0, box.y1 - kDot}};
  const PlotPoint end[2] = {{box.x1 - kDot, box.y0}, {box.x1 - kDot, box.y1 - kDot}};
  line(top, theme_.dim, 1, Dash::solid);
  line(end, theme_.dim, 1, Dash::solid);
}

void TextCanvas::polygon(std::span<const PlotPoint> points, Colour colour) {
  const Box box = around(points);
  const auto holds = [&](PlotPoint at) { return is_within(points, at); };
  if (std::max(box.width(), box.height()) < 3 * kThin) {
    if (alpha_of(colour) < 0.5F) return;
    fill_dots(box, holds, over_ground(colour), Layer::stroke);
    const PlotPoint middle = {(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2};
    return dot(static_cast<int>(middle.x / kDot), static_cast<int>(middle.y / kDot), over_ground(colour),
               Layer::stroke);
  }
  Colour area = over_ground(colour);
  if (style_.colours == TextStyle::Colours::none) area = area_without_colour(area, theme_);
  if (area != 0 && !isobar::holds(patterns_, area)) patterns_.push_back(area);
  fill_dots(box, holds, area, Layer::area);
}

void TextCanvas::circle(PlotPoint at, float radius, Colour colour, bool filled) {
  std::vector<PlotPoint> round;
  for (int i = 0; i <= 24; ++i) {
    const float angle = static_cast<float>(i) * 0.2617994F;
    round.push_back({at.x + radius * std::cos(angle), at.y + radius * std::sin(angle)});
  }
  if (filled) return polygon(round, colour);
  line(round, colour, 1, Dash::solid);
}

void TextCanvas::line(std::span<const PlotPoint> points, Colour colour, float, Dash dash) {
  if (points.empty()) return;
  const PlotPoint first = points.front(), last = points.back();
  const bool is_straight =
      points.size() == 2 && (std::abs(first.x - last.x) < 1 || std::abs(first.y - last.y) < 1);
  const bool faint = is_faint(colour);
  if (faint && is_straight) return;  // a line of a grid
  const bool is_hatch =
      alpha_of(colour) < 0.5F && (style_.colours != TextStyle::Colours::none || points.size() == 2);
  if (is_hatch) return;  // patterns and colours replace it
  const int on = dash == Dash::dashed ? 4 : 1, period = dash == Dash::solid    ? 1
                                                        : dash == Dash::dashed ? 6
                                                                               : 3;
  int count = 0;
  for (std::size_t i = 0; i + 1 < std::max<std::size_t>(2, points.size()); ++i) {
    const PlotPoint from = points[i], to = points[std::min(i + 1, points.size() - 1)];
    const Box box = around(std::array{from, to});
    if (box.x1 < 0 || box.x0 > width() || box.y1 < 0 || !std::isfinite(box.width() + box.height())) continue;
    const float steps = std::max(1.0F, std::ceil(std::max(box.width(), box.height()) / kDot));
    for (float k = 0; k < std::min(steps, 4000.0F); ++k) {
      const float part = k / steps;
      const float x = from.x + (to.x - from.x) * part, y = from.y + (to.y - from.y) * part;
      if (count++ % period < on)
        dot(static_cast<int>(std::floor(x / kDot)), static_cast<int>(std::floor(y / kDot)),
            over_ground(colour), faint ? Layer::faint : Layer::stroke);
    }
  }
}

void TextCanvas::mark(PlotPoint at, Mark mark, float radius, Colour colour) {
  const std::uint32_t code = mark_letter(mark, style_.glyphs == TextStyle::Glyphs::ascii);
  if (code == 0 || !std::ranges::all_of(clips_, [&](const Box& clip) { return clip.contains(at); })) return;
  if (radius < 3 && style_.colours != TextStyle::Colours::none)
    return dot(static_cast<int>(at.x / kDot), static_cast<int>(at.y / kDot), over_ground(colour),
               Layer::stroke);
  const float column = std::floor(at.x / kCellWide);
  Row* const row = column < 0 || column >= static_cast<float>(style_.columns) || at.y < 0
                       ? nullptr
                       : row_at(static_cast<int>(at.y / kDot));
  if (row == nullptr) return;
  Letter& letter = row->letters[static_cast<std::size_t>(column)];
  if (letter.code == 0 || letter.is_mark) letter = {code, over_ground(colour), false, true};
}

bool TextCanvas::is_free(int row, int first, int count) {
  const Row* const at = row_at(row * kDown);
  if (at == nullptr) return false;
  const int last = std::min(first + count + 1, static_cast<int>(style_.columns));
  for (int column = std::max(0, first - 1); column < last; ++column) {
    const Letter& letter = at->letters[static_cast<std::size_t>(column)];
    if (letter.code != 0 && !letter.is_mark) return false;
  }
  return true;
}

void TextCanvas::text(float x, float y, std::string_view words, Face face, Colour colour, float across) {
  std::vector<std::uint32_t> codes = letters_of(words);
  if (codes.size() > style_.columns) {
    codes.resize(style_.columns);
    codes.back() = 0x2026;
  }
  const auto count = static_cast<int>(codes.size()), columns = static_cast<int>(style_.columns);
  const float left = (x - across * static_cast<float>(count) * kCellWide) / kCellWide;
  const int first = std::clamp(static_cast<int>(std::lround(left)), 0, columns - count);
  const int wanted = static_cast<int>(std::floor((y + line_height(face) / 2) / kCellHigh));
  if (wanted < 0 || count == 0) return;
  const std::array<int, 3> places = {wanted, wanted + 1, wanted - 1};
  const auto place =
      std::ranges::find_if(places, [&](int row) { return row >= 0 && is_free(row, first, count); });
  if (place == places.end()) return;
  Row& row = *row_at(*place * kDown);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t code =
        shown_letter(codes[static_cast<std::size_t>(i)], style_.glyphs == TextStyle::Glyphs::ascii);
    row.letters[static_cast<std::size_t>(first + i)] = {code, over_ground(colour),
                                                        face == Face::bold || face == Face::title};
  }
}

void TextCanvas::picture(const Box& box, const std::shared_ptr<const Picture>& picture) {
  for (float y = std::max(0.0F, box.y0); y < box.y1; y += kDot) {
    for (float x = std::max(0.0F, box.x0); x < box.x1; x += kDot) {
      const int column = static_cast<int>((x - box.x0) / box.width() * static_cast<float>(picture->width));
      const int row = static_cast<int>((y - box.y0) / box.height() * static_cast<float>(picture->height));
      const std::size_t at = 4 * static_cast<std::size_t>(row * picture->width + column);
      const std::span<const std::uint8_t> c = std::span(picture->rgba).subspan(at, 4);
      fill({x, y, x + kThin, y + kThin},
           kBlack | Colour{c[2]} << kBShift | Colour{c[1]} << kGShift | Colour{c[0]} << kRShift, 0);
    }
  }
}

std::uint32_t TextCanvas::pattern_of(Colour area) const {
  const auto& shades = style_.glyphs == TextStyle::Glyphs::ascii ? kAsciiShades : kShades;
  const auto at = static_cast<std::size_t>(std::ranges::find(patterns_, area) - patterns_.begin());
  return shades[at % shades.size()];
}

/// Two areas of a cell, by quarters.
void TextCanvas::add_area(Look& look, const std::vector<Colour>& dots) const {
  const Colour most = most_of(dots);
  if (most == 0) return;
  if (style_.colours == TextStyle::Colours::none) {
    if (std::ranges::count(dots, Colour{0}) <= 4 && look.code == ' ') look.code = pattern_of(most);
    return;
  }
  const auto has = [&](Colour colour, std::size_t quarter) {
    const std::size_t i = quarter / 2 * 4 + quarter % 2;
    return dots[i] == colour && dots[i + 2] == colour;
  };
  unsigned quarters = 0;
  Colour other = 0;
  for (const Colour one : dots) other = one != most && one != 0 ? one : other;
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    if (has(most, quarter)) quarters |= 1U << quarter;
  }
  const bool is_plain = look.code != ' ' || quarters == 15 || style_.glyphs == TextStyle::Glyphs::ascii;
  if (is_plain) {
    if (std::ranges::count(dots, Colour{0}) <= 4) look.ground = most;
    return;
  }
  look = {kQuadrants[quarters], most, std::ranges::count(dots, other) > 1 ? other : 0, false};
}

TextCanvas::Look TextCanvas::look_of(const Row& row, std::size_t column) const {
  const auto cell = [&](const std::vector<Colour>& all) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(column * kAcross * kDown);
    return std::vector<Colour>(begin, begin + std::ptrdiff_t{kAcross * kDown});
  };
  const Letter& letter = row.letters[column];
  const std::vector<Colour> areas = cell(row.areas);
  std::vector<Colour> strokes = cell(row.strokes);
  const auto is_strong = [](Colour one) { return (one & kBlack) == kBlack; };
  if (std::ranges::any_of(strokes, is_strong))
    std::ranges::replace_if(
        strokes, [&](Colour one) { return !is_strong(one); }, Colour{0});
  Look out;
  unsigned dots = 0;
  for (std::size_t i = 0; i < strokes.size(); ++i) dots |= strokes[i] != 0 ? 1U << i : 0U;
  if (letter.code != 0) {
    out = {letter.code, letter.colour, 0, letter.bold};
  } else if (dots != 0) {
    out.code = style_.glyphs == TextStyle::Glyphs::ascii ? ascii_of(dots) : braille_of(dots);
    out.colour = most_of(strokes) | kBlack;
  }
  const bool is_blank = letter.code == ' ';
  if (is_blank) out.code = 0xa0;  // keeps the pattern of an area from it
  add_area(out, areas);
  if (is_blank) out.code = ' ';
  if (out.ground != 0 && out.code != ' ' && letter.code != 0)
    out.colour = readable(out.colour, out.ground, letter.is_mark ? 3 : 4.5);
  return out;
}

std::string TextCanvas::codes_of(const Look& look) const {
  if (style_.colours == TextStyle::Colours::none) return "";
  std::string out = look.bold ? ";1" : "";
  const bool plain = look.code == ' ' || (look.ground == 0 && look.colour == (theme_.text | kBlack));
  if (!plain && look.ground == 0 && look.colour == (theme_.dim | kBlack)) {
    out += ";2";
  } else if (!plain) {
    out += ";" + colour_code(38, look.colour, style_.colours);
  }
  if (look.ground != 0) out += ";" + colour_code(48, look.ground, style_.colours);
  return out;
}

std::string TextCanvas::line_of(const Row& row, bool padded) const {
  std::string line, kept, codes;
  for (std::size_t column = 0; column < style_.columns; ++column) {
    const Look look = look_of(row, column);
    const bool is_gap = look.code == ' ' && look.ground == 0 && codes.find(";48;") == std::string::npos;
    if (const std::string wanted = codes_of(look); !is_gap && wanted != codes) {
      line += "\x1b[0" + wanted + "m";
      codes = wanted;
    }
    append_utf8(line, look.code);
    if (padded || look.code != ' ' || look.ground != 0) kept = line + (codes.empty() ? "" : "\x1b[0m");
  }
  return kept;
}

std::vector<std::string> TextCanvas::lines(std::size_t rows) const {
  std::vector<std::string> out;
  for (const Row& row : rows_) out.push_back(line_of(row, rows > 0));
  out.resize(rows > 0 ? rows : out.size(), std::string(style_.columns, ' '));
  if (rows > 0) return out;
  while (!out.empty() && out.back().empty()) out.pop_back();
  const auto first = std::ranges::find_if(out, [](const std::string& line) { return !line.empty(); });
  out.erase(out.begin(), first);
  return out;
}

}  // namespace isobar
