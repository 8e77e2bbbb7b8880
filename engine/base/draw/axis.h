#pragma once
// One axis of a plot: from values to pixels, and where its marks are.
#include <string>
#include <vector>

namespace isobar {

/// From one value to another.
struct Limits {
  double least = 0, most = 1;
};

struct Axis {
  double least = 0;
  double most = 1;
  bool log = false;
  bool whole = false;  ///< only whole numbers mean something
  float begin = 0;     ///< pixel of `least`
  float end = 1;       ///< pixel of `most`; before `begin` for an axis that grows upwards

  /// Pixel of a value; a value that is not positive on a logarithmic axis lies far before its begin.
  float pixel(double value) const;
  double value(float pixel) const;
};

struct Tick {
  double value = 0;
  std::string label;  ///< "" for a minor one
};

/// Marks at 1, 2 or 5 times a power of ten (powers of ten on a logarithmic axis), so that labels are about
/// `spacing` pixels apart.
std::vector<Tick> ticks(const Axis& axis, float spacing);

/// "12.4 k", "3.1 m", "0.25", "nan": at most `digits` significant digits, engineering prefixes outside
/// 0.001 to 9,999.
std::string engineering(double value, int digits = 4);

/// A cell of a table of comma-separated values: in quotation marks, those within it as apostrophes.
std::string csv_quoted(std::string words);

/// A stretch of time in seconds: "0.8 s", "1:05", "2:10:00".
std::string clock_text(double seconds);

}  // namespace isobar
