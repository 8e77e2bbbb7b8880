#include "draw/band.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isobar {
namespace {

constexpr std::size_t kMostBands = 256;

bool is_same_value(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

}  // namespace

void Bands::Entry::push(std::size_t row, double value) {
  while (!inside.empty() && inside.front().first + rows <= row) {
    auto& values = sorted.values;
    values.erase(std::lower_bound(values.begin(), values.end(), inside.front().second));
    inside.pop_front();
  }
  last_seen = value;
  const bool finite = std::isfinite(value);
  if (finite) {
    inside.emplace_back(row, value);
    sorted.values.insert(std::upper_bound(sorted.values.begin(), sorted.values.end(), value), value);
  }
  const auto at = [&](double share) {
    return finite ? sorted.quantile(share) : std::numeric_limits<double>::quiet_NaN();
  };
  out->median.push(row, at(0.5));
  out->low.push(row, at(0.1));
  out->high.push(row, at(0.9));
}

std::shared_ptr<const Band> Bands::of(const std::string& id, const Curve& curve, std::size_t rows) {
  if (entries_.size() > kMostBands && entries_.count(id) == 0) entries_.clear();
  Entry& entry = entries_[id];
  const std::size_t done = entry.out->median.y.size();
  const bool goes_on = entry.rows == rows && done <= curve.y.size() &&
                       (done == 0 || is_same_value(curve.y[done - 1], entry.last_seen));
  if (!goes_on) {
    entry = Entry();
    entry.rows = rows;
  }
  for (std::size_t i = entry.out->median.y.size(); i < curve.y.size(); ++i)
    entry.push(curve.row(i), curve.y[i]);
  return entry.out;
}

void show_as_band(PlotLine& line, Bands& bands) {
  if (line.curve == nullptr) return;
  struct Both {
    std::shared_ptr<const void> places;
    std::shared_ptr<const Band> band;
  };
  const std::shared_ptr<const Band> band = bands.of(line.id, *line.curve);
  line.curve = &band->median;
  line.low = &band->low;
  line.high = &band->high;
  line.keep = std::make_shared<Both>(Both{line.keep, band});
}

}  // namespace isobar
