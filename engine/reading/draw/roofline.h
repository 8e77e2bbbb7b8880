#pragma once
// How fast work can be, by how much it computes for each byte that it moves: min(peak, bandwidth x
// FLOP/byte).
#include <string>
#include <vector>

#include "draw/sketch.h"

namespace isobar {

struct Roof {
  std::string name;  ///< "16 bits"
  double flops_per_s = 0;
};

struct RoofPoint {
  std::string name;
  double flops_per_byte = 0;
  double flops_per_s = 0;
};

struct RooflineChart {
  std::vector<Roof> roofs;        ///< may be empty: not known
  double bytes_per_s = 0;         ///< 0 = not known
  std::vector<RoofPoint> points;  ///< numbered, with a list of them below
};

/// Both axes are logarithmic. Gives the y where it ends.
float paint_roofline(Sketch& sketch, const RooflineChart& roofline, PlotPoint at, float width);

}  // namespace isobar
