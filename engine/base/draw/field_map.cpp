#include "draw/field_map.h"

#include <array>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "fields/npy.h"

namespace isobar {
namespace {

// Nine places of matplotlib's viridis (CC0), and a blue-white-red scale of even lightness steps.
constexpr std::array<std::uint32_t, 9> kViridis = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                                   0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
constexpr std::array<std::uint32_t, 9> kDiverging = {0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                                     0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b};
constexpr Colour kNothing = rgb(0x808080);

constexpr std::int64_t kMostOfAxis = 4096;

}  // namespace

std::span<const float> Fields::of(std::int64_t which, std::int64_t channel) const {
  const auto size = static_cast<std::size_t>(rows * columns);
  return std::span(values).subspan(static_cast<std::size_t>(which * channels + channel) * size, size);
}

Fields read_fields(const std::filesystem::path& file) {
  NpyArray array = read_npy(file);
  const auto fits = [](std::int64_t size) { return size >= 1 && size <= kMostOfAxis; };
  if (array.shape.size() != 4 || (array.shape[0] != 3 && array.shape[0] != 4) ||
      !std::ranges::all_of(array.shape, fits))
    throw Error("its shape is not [3, C, H, W], or [4, C, H, W] of an ensemble", file.string(), "");
  return {array.shape[1], array.shape[2], array.shape[3], std::move(array.values)};
}

std::vector<float> difference(std::span<const float> one, std::span<const float> other) {
  std::vector<float> out;
  for (std::size_t i = 0; i < one.size(); ++i) out.push_back(one[i] - other[i]);
  return out;
}

void MapLimits::see(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, static_cast<double>(value));
    most = std::max(most, static_cast<double>(value));
  }
}

void MapLimits::part() {
  if (most > least) return;
  least = most < least ? -1 : least - 1;
  most = least + 2;
}

Colour map_colour(MapColours colours, double part) {
  const auto& stops = colours == MapColours::sequential ? kViridis : kDiverging;
  const double place = std::clamp(part, 0.0, 1.0) * 8;
  const auto stop = std::min<std::size_t>(7, static_cast<std::size_t>(place));
  return mixed(rgb(stops[stop]), rgb(stops[stop + 1]), static_cast<float>(place - static_cast<double>(stop)));
}

std::shared_ptr<const Picture> draw_map(std::span<const float> values, int rows, int columns, double least,
                                        double most, MapColours colours) {
  std::array<Colour, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = map_colour(colours, static_cast<double>(i) / 255);
  auto picture = std::make_shared<Picture>();
  picture->width = columns;
  picture->height = rows;
  picture->rgba.resize(values.size() * 4);
  const double scale = most > least ? 255 / (most - least) : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double part = (static_cast<double>(values[i]) - least) * scale;
    const Colour colour =
        std::isfinite(part) ? table[static_cast<std::size_t>(std::clamp(part, 0.0, 255.0))] : kNothing;
    std::memcpy(picture->rgba.data() + 4 * i, &colour, 4);
  }
  return picture;
}

Box paint_map(Canvas& canvas, const Theme& theme, const MapSpec& spec, const Box& box) {
  const float s = canvas.scale();
  paint_fitted(canvas, box.x0 + 12 * s, box.y0 + 10 * s, box.width() - 24 * s, spec.title, Face::bold,
               theme.text);
  const Box room = {box.x0 + 12 * s, box.y0 + 36 * s, box.x1 - 12 * s, box.y1 - 40 * s};
  if (!spec.picture || room.width() < 8 || room.height() < 8) return room;
  const float shape =
      static_cast<float>(spec.picture->width) / static_cast<float>(std::max(1, spec.picture->height));
  const float width = std::min(room.width(), room.height() * shape);
  const float height = width / shape;
  const float left = std::round(room.x0 + (room.width() - width) / 2);
  const Box map = {left, room.y0, std::round(left + width), std::round(room.y0 + height)};
  canvas.picture(map, spec.picture);
  const float bar_y = map.y1 + 8 * s;
  const int pieces = 48;
  for (int i = 0; i < pieces; ++i) {
    const float x0 = map.x0 + map.width() * static_cast<float>(i) / pieces;
    canvas.fill({x0, bar_y, map.x0 + map.width() * static_cast<float>(i + 1) / pieces + 0.5F, bar_y + 7 * s},
                map_colour(spec.colours, (i + 0.5) / pieces));
  }
  const float text_y = bar_y + 9 * s;
  canvas.text(map.x0, text_y, engineering(spec.least, 3), Face::small, theme.dim);
  canvas.text((map.x0 + map.x1) / 2, text_y, engineering((spec.least + spec.most) / 2, 3), Face::small,
              theme.dim, 0.5F);
  canvas.text(map.x1, text_y, engineering(spec.most, 3) + " σ", Face::small, theme.dim, 1);
  return map;
}

}  // namespace isobar
