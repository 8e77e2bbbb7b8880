#include "state/map_pictures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "draw/field_map.h"

namespace isobar {
namespace {

/// Root mean square over the map, rows weighted by the cosine of their latitude (row 0 is the north pole).
double weighted_rms(std::span<const float> a, std::span<const float> b, std::int64_t rows,
                    std::int64_t columns) {
  double sum = 0;
  double weights = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double latitude =
        rows > 1 ? (90.0 - 180.0 * static_cast<double>(row) / static_cast<double>(rows - 1)) : 0;
    const double weight = std::max(0.0, std::cos(latitude * 3.14159265358979323846 / 180));
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto i = static_cast<std::size_t>(row * columns + column);
      const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      if (!std::isfinite(difference)) continue;
      sum += weight * difference * difference;
      weights += weight;
    }
  }
  return weights > 0 ? std::sqrt(sum / weights) : 0;
}

void see(std::span<const float> values, double& least, double& most) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, static_cast<double>(value));
    most = std::max(most, static_cast<double>(value));
  }
}

/// Both errors at once, so that one scale holds them.
double most_error(std::span<const float> a, std::span<const float> truth, std::vector<float>& error) {
  double most = 0;
  error.resize(truth.size());
  for (std::size_t i = 0; i < error.size(); ++i) {
    error[i] = a[i] - truth[i];
    if (std::isfinite(error[i])) most = std::max(most, static_cast<double>(std::fabs(error[i])));
  }
  return most;
}

/// Limits that hold all of them; while one channel of one run plays they only grow, so that what changes is
/// the forecast and not its scale.
void set_limits(MapsState& maps, bool goes_on, std::span<const float> values, double error_most) {
  const bool known = goes_on && maps.most > maps.least;
  double least = known ? maps.least : 1e300;
  double most = known ? maps.most : -1e300;
  see(values, least, most);
  if (!(most > least)) {
    least = std::isfinite(least) && least < 1e299 ? least - 1 : -1;
    most = least + 2;
  }
  maps.least = least;
  maps.most = most;
  maps.error_most = goes_on ? std::max(maps.error_most, error_most) : error_most;
  if (!(maps.error_most > 0)) maps.error_most = 1;
}

}  // namespace

bool is_signed(MapPart part) { return part == MapPart::error || part == MapPart::persistence_error; }

std::span<const float> field_of(const FieldSet& set, std::int64_t which, std::int64_t channel) {
  const auto size = static_cast<std::size_t>(set.rows * set.columns);
  const auto at = static_cast<std::size_t>(which * set.channels + channel) * size;
  return std::span(set.values).subspan(at, size);
}

void update_pictures(MapsState& maps, const std::shared_ptr<const FieldSet>& set, int channel) {
  if (maps.drawn == set && maps.drawn_channel == channel) return;
  const bool goes_on = maps.drawn && maps.drawn->run == set->run && maps.drawn_channel == channel;
  maps.drawn = set;
  maps.drawn_channel = channel;
  const auto input = field_of(*set, 0, channel);
  const auto target = field_of(*set, 1, channel);
  const auto prediction = field_of(*set, 2, channel);
  std::vector<float> error;
  std::vector<float> persistence_error;
  const double most =
      std::max(most_error(prediction, target, error), most_error(input, target, persistence_error));
  std::vector<float> all(input.begin(), input.end());
  for (const auto values : {target, prediction}) all.insert(all.end(), values.begin(), values.end());
  set_limits(maps, goes_on, all, most);
  const auto draw = [&](MapPart part, std::span<const float> values) {
    const bool is_error = is_signed(part);
    maps.pictures[static_cast<std::size_t>(part)] =
        draw_map(values, static_cast<int>(set->rows), static_cast<int>(set->columns),
                 is_error ? -maps.error_most : maps.least, is_error ? maps.error_most : maps.most,
                 is_error ? MapColours::diverging : MapColours::sequential);
  };
  draw(MapPart::prediction, prediction);
  draw(MapPart::error, error);
  draw(MapPart::persistence, input);
  draw(MapPart::persistence_error, persistence_error);
  draw(MapPart::target, target);
  maps.rmse = weighted_rms(prediction, target, set->rows, set->columns);
  maps.persistence_rmse = weighted_rms(input, target, set->rows, set->columns);
}

}  // namespace isobar
