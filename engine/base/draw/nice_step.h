#pragma once
// Distances between the marks of an axis.

namespace isobar {

/// 1, 2 or 5 times a power of ten, so that about `count` steps make `range`.
double nice_step(double range, double count);

}  // namespace isobar
