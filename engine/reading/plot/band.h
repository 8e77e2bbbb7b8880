#pragma once
// Curves that are worked out of noisy ones and grow with them: what the values do in the middle and how far
// they spread, over a window that slides along them, and exponential moving averages.
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "analyse/spread.h"
#include "plot/plot.h"

namespace isobar {

/// Keeps what was worked out of curves, by their ids: a `Worked` takes in one value after the other
/// (push(row, value, how)), and begins anew for another curve or another `how`.
template <class Worked>
class WorkedCurves {
 public:
  Worked& of(const std::string& id, const Curve& curve, double how) {
    if (kept_.size() > kMost && kept_.count(id) == 0) kept_.clear();
    Kept& kept = kept_[id];
    const double last = kept.taken == 0 || kept.taken > curve.y.size() ? 0 : curve.y[kept.taken - 1];
    const bool is_same = kept.last == last || (std::isnan(kept.last) && std::isnan(last));
    if (kept.how != how || kept.taken > curve.y.size() || !is_same) kept = Kept{how};
    for (; kept.taken < curve.y.size(); ++kept.taken)
      kept.worked.push(curve.row(kept.taken), kept.last = curve.y[kept.taken], how);
    return kept.worked;
  }

 private:
  static constexpr std::size_t kMost = 512;
  struct Kept {
    double how = -1;
    std::size_t taken = 0;
    double last = 0;
    Worked worked = {};
  };
  std::map<std::string, Kept> kept_;
};

/// s_i = w s_(i-1) + (1 - w) y_i, divided by 1 - w^(i+1) so that the begin is not pulled to zero; values that
/// are not finite leave a gap and do not count.
class Smoother {
 public:
  /// The smoothed form of `curve`; `id` tells it from others. Valid until the next call with this id.
  const Curve& smoothed(const std::string& id, const Curve& curve, double weight) {
    return averages_.of(id, curve, weight).out;
  }

 private:
  struct Average {
    Curve out;
    double sum = 0;
    double norm = 1;
    void push(std::size_t row, double value, double weight);
  };
  WorkedCurves<Average> averages_;
};

/// Rows that a window holds, such as steps.
inline constexpr std::size_t kBandRows = 25;

/// Of the finite values in the last rows, at each row: the median, and the values below which a tenth and
/// nine tenths of them lie (interpolated, as Spread has them).
struct Band {
  Curve median, low, high;
};

class Bands {
 public:
  /// Over windows of `rows` rows that end with each; `id` tells the curve from others. Values that are not
  /// finite leave a gap and do not count. It grows with later calls of this id.
  std::shared_ptr<const Band> of(const std::string& id, const Curve& curve, std::size_t rows = kBandRows) {
    return windows_.of(id, curve, static_cast<double>(rows)).out;
  }

 private:
  struct Window {
    std::shared_ptr<Band> out = std::make_shared<Band>();
    std::deque<std::pair<std::size_t, double>> inside;  ///< row and value, the oldest first
    Spread sorted;
    void push(std::size_t row, double value, double rows);
  };
  WorkedCurves<Window> windows_;
};

/// Draws the band of the line's values in place of them.
void show_as_band(PlotLine& line, Bands& bands);

}  // namespace isobar
