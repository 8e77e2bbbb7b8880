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

inline constexpr double kTera = 1e12;
inline constexpr double kA100BytesPerS = 1.555 * kTera;  ///< data sheet of the A100-40GB

/// As fast as the roof of an A100-40GB with this peak allows.
RoofPoint point_below(std::string name, double flops_per_byte, double peak);

/// FLOP a byte of a product of base, [R, E] x [E, columns E], that moves every operand once, `bytes` a value.
double product_intensity(double columns, double bytes);

/// Both axes are logarithmic. Gives the y where it ends.
float paint_roofline(Sketch& sketch, const RooflineChart& roofline, PlotPoint at, float width);

}  // namespace isobar
