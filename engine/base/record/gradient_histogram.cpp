#include "record/gradient_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace isobar {

void GradientHistogram::add(std::span<const float> values) {
  std::array<std::int64_t, 256> by_bits{};  // the exponent as float32 holds it: 0 = zero or subnormal
  std::int64_t zeros = 0;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
    ++by_bits[bits >> 23];
    zeros += bits == 0 ? 1 : 0;
  }
  zero += zeros;
  by_bits[0] -= zeros;
  nonfinite += by_bits[255];
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += by_bits[i];
}

std::int64_t GradientHistogram::below(int exponent) const {
  const int places = std::clamp(exponent - kLeast, 0, static_cast<int>(counts.size()));
  return std::accumulate(counts.begin(), counts.begin() + places, std::int64_t{0});
}

std::int64_t GradientHistogram::values() const {
  return std::accumulate(counts.begin(), counts.end(), zero + nonfinite);
}

JsonLine gradients_event(const GradientHistogram& histogram, std::int64_t t_us) {
  JsonLine line("gradients");
  line.add("step", histogram.step).add("t_us", t_us).add("scale", histogram.scale);
  line.add("values", histogram.values()).add("zero", histogram.zero).add("nonfinite", histogram.nonfinite);
  line.add("below_normal", histogram.below(kHalfNormal));
  line.add("below_subnormal", histogram.below(kHalfSubnormal));
  for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e) {
    if (histogram.at(e) > 0) line.add(fmt::format("e{}", e), histogram.at(e));
  }
  return line;
}

}  // namespace isobar
