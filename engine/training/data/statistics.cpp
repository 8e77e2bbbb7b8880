#include "data/statistics.h"

#include <algorithm>
#include <cmath>

#include "kernels/normalise.h"

namespace isobar {

std::int64_t normalise(std::span<float> fields, const Statistics& statistics) {
  const std::size_t pixels = fields.size() / statistics.mean.size();
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    float* const values = fields.data() + c * pixels;
    if (normalise_values(values, values, static_cast<std::int64_t>(pixels), statistics.mean[c],
                         statistics.std[c], Stores::cached) == 0) {
      continue;
    }
    return static_cast<std::int64_t>(c * pixels) + first_nonfinite({values, pixels});
  }
  return -1;
}

std::int64_t first_nonfinite(std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  return bad == values.end() ? -1 : bad - values.begin();
}

}  // namespace isobar
