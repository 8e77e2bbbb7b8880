#pragma once
// Weather fields as coloured maps.
#include <memory>
#include <span>
#include <string>

#include "draw/canvas.h"

namespace isobar {

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
