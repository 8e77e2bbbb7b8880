#pragma once
// What noisy values do in the middle, and how far they spread, over a window that slides along them.
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "analyse/spread.h"
#include "draw/plot.h"

namespace isobar {

/// Rows that a window holds, such as steps.
inline constexpr std::size_t kBandRows = 25;

/// Of the finite values in the last rows, at each row: the median, and the values below which a tenth and
/// nine tenths of them lie (interpolated, as Spread has them).
struct Band {
  Curve median, low, high;
};

/// Keeps bands up to date as their curves grow.
class Bands {
 public:
  /// Over windows of `rows` rows that end with each; `id` tells the curve from others. Values that are not
  /// finite leave a gap and do not count. It grows with later calls of this id.
  std::shared_ptr<const Band> of(const std::string& id, const Curve& curve, std::size_t rows = kBandRows);

 private:
  struct Entry {
    std::size_t rows = 0;
    std::shared_ptr<Band> out = std::make_shared<Band>();
    std::deque<std::pair<std::size_t, double>> inside;  ///< row and value, the oldest first
    Spread sorted;
    double last_seen = 0;

    void push(std::size_t row, double value);
  };
  std::map<std::string, Entry> entries_;
};

/// Draws the band of the line's values in place of them.
void show_as_band(PlotLine& line, Bands& bands);

}  // namespace isobar
