#pragma once
// Repeats of one measurement: their middle, how far they lie apart, and when two of them are the same.
#include <optional>
#include <vector>

namespace isobar {

struct Spread {
  std::vector<double> values;  ///< sorted

  Spread() = default;
  /// Values that are not finite are left out.
  explicit Spread(const std::vector<double>& measured);

  bool empty() const { return values.empty(); }
  /// The value below which a share of the values lies, interpolated between its neighbours; 0 without values.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }
  double least() const { return empty() ? 0 : values.front(); }
  double most() const { return empty() ? 0 : values.back(); }
  /// The inter-quartile range; 0 for fewer than two values.
  double range() const { return quantile(0.75) - quantile(0.25); }
  /// That range over the median, 0 without one.
  double relative() const { return median() > 0 ? range() / median() : 0; }
};

/// Whether the two cannot be told apart: what was measured of them overlaps, and the medians lie no further
/// apart than the larger of the two inter-quartile ranges. Positive values are compared by their logarithms,
/// so that a fast case which jumps does not swallow every slow one. Where neither was measured more than
/// once, the medians may differ by 2 % of the larger.
bool is_same(const Spread& one, const Spread& other);

/// One case over another.
struct Compared {
  double ratio = 1;   ///< of the medians
  bool same = false;  ///< `is_same`
};
/// Nothing where one of them has no value, or the other's median is not above zero.
std::optional<Compared> compare(const Spread& one, const Spread& other);

}  // namespace isobar
