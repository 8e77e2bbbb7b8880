#include "plot/band.h"

#include <algorithm>
#include <limits>

namespace isobar {

void Smoother::Average::push(std::size_t row, double value, double weight) {
  double average = std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(value)) {
    sum = weight * sum + (1 - weight) * value;
    norm *= weight;
    average = sum / (1 - norm);
  }
  out.push(row, average);
}

void Bands::Window::push(std::size_t row, double value, double rows) {
  auto& values = sorted.values;
  while (!inside.empty() && inside.front().first + static_cast<std::size_t>(rows) <= row) {
    values.erase(std::ranges::lower_bound(values, inside.front().second));
    inside.pop_front();
  }
  const bool finite = std::isfinite(value);
  if (finite) {
    inside.emplace_back(row, value);
    values.insert(std::ranges::upper_bound(values, value), value);
  }
  const auto at = [&](double share) {
    return finite ? sorted.quantile(share) : std::numeric_limits<double>::quiet_NaN();
  };
  out->median.push(row, at(0.5));
  out->low.push(row, at(0.1));
  out->high.push(row, at(0.9));
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
