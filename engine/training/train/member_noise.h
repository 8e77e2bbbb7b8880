#pragma once
// Noise by which the members of an ensemble differ.
#include <cstdint>

namespace isobar {

/// Whose noise it is.
struct NoisePlace {
  std::int64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t sample = 0;  ///< its number in the data set
  std::int64_t member = 0;
  std::int64_t lead = 0;  ///< forecasts that a rollout has made before
};

/// Fills `out` [n] with normal numbers of mean 0, which depend on `place` and their index alone: two of each
/// 64 random bits, by Box and Muller (1958).
void fill_with_noise(const NoisePlace& place, double standard_deviation, float* out, std::int64_t n);

}  // namespace isobar
