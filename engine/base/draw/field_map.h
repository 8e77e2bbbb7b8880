#pragma once
// Weather fields of a validation sample, and coloured maps of them.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

/// Input, target and prediction of one validation sample: `values` is [3, channels, rows, columns], or of an
/// ensemble [4, ...], and the spread of its members.
struct Fields {
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values = {};

  bool has_spread() const {
    return static_cast<std::int64_t>(values.size()) == 4 * channels * rows * columns && channels > 0;
  }
  /// One channel of the input (0), target (1), prediction (2) or spread (3), row by row.
  std::span<const float> of(std::int64_t which, std::int64_t channel) const;
};

/// Error (exit code 2) for a file of another shape.
Fields read_fields(const std::filesystem::path& file);

std::vector<float> difference(std::span<const float> one, std::span<const float> other);

/// Least and greatest of the finite values that were seen.
struct MapLimits {
  double least = 1e300, most = -1e300;

  void see(std::span<const float> values);
  /// Limits that lie apart, whatever was seen.
  void part();
  double size() const { return std::max(-least, most); }
};

enum class MapColours { sequential, diverging };

/// Colour of a place in [0, 1]: viridis from dark to light, or blue over white to red.
Colour map_colour(MapColours colours, double part);

/// One pixel a value; grey where it is not finite.
std::shared_ptr<const Picture> draw_map(std::span<const float> values, int rows, int columns, double least,
                                        double most, MapColours colours);

struct MapSpec {
  std::string title;
  std::shared_ptr<const Picture> picture;
  double least = 0, most = 1;
  MapColours colours = MapColours::sequential;
};

/// Title, map in its own proportions, colour bar with its values below. Returns where the map itself is.
Box paint_map(Canvas& canvas, const Theme& theme, const MapSpec& spec, const Box& box);

}  // namespace isobar
