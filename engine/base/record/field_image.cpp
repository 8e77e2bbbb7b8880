#include "record/field_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "record/png.h"

namespace isobar {
namespace {

constexpr std::int64_t kLeastWidth = 288;
constexpr std::int64_t kGap = 6;

using Colour = std::array<unsigned char, 3>;

Colour colour_of(float value, float low, float high) {
  if (!std::isfinite(value)) return {128, 128, 128};
  const float t = high > low ? std::clamp((value - low) / (high - low), 0.0F, 1.0F) : 0.5F;
  static constexpr std::array<std::array<float, 3>, 5> kStops = {
      {{24, 60, 140}, {110, 165, 215}, {246, 246, 242}, {230, 130, 95}, {150, 20, 40}}};
  const float place = t * 4;
  const auto stop = std::min<std::size_t>(3, static_cast<std::size_t>(place));
  const float part = place - static_cast<float>(stop);
  Colour out{};
  for (std::size_t c = 0; c < 3; ++c) {
    out[c] =
        static_cast<unsigned char>(std::lround(kStops[stop][c] * (1 - part) + kStops[stop + 1][c] * part));
  }
  return out;
}

}  // namespace

PngImage draw_pair(std::span<const float> upper, std::span<const float> lower, std::int64_t rows,
                   std::int64_t columns) {
  float low = std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::lowest();
  for (const std::span<const float> field : {upper, lower}) {
    for (const float value : field) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const std::int64_t zoom = (kLeastWidth + columns - 1) / columns;
  PngImage image{"", 2 * rows * zoom + kGap, columns * zoom};
  std::vector<Colour> pixels(static_cast<std::size_t>(image.height * image.width), Colour{255, 255, 255});
  for (std::int64_t y = 0; y < 2 * rows * zoom; ++y) {
    const std::int64_t row = y / zoom;
    const std::span<const float> field = row < rows ? upper : lower;
    const std::int64_t to = (y + (row < rows ? 0 : kGap)) * image.width;
    for (std::int64_t x = 0; x < image.width; ++x) {
      const float value = field[static_cast<std::size_t>(row % rows * columns + x / zoom)];
      pixels[static_cast<std::size_t>(to + x)] = colour_of(value, low, high);
    }
  }
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(pixels.data()), pixels.size() * 3);
  image.bytes = encode_png(bytes, image.height, image.width, 3);
  return image;
}

}  // namespace isobar
