#pragma once
// Floats of every class, and the plain count that kernels must equal.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace isobar {

/// One of each class on either side of every border between finite and not: zeros, subnormals, normals,
/// infinities, quiet and signalling NaNs with small and large payloads, each with both signs.
inline std::vector<float> floats_of_every_class() {
  std::vector<float> out;
  for (const std::uint32_t bits :
       {0x00000000U, 0x00000001U, 0x007fffffU, 0x00800000U, 0x3f800000U, 0x7f000000U, 0x7f7fffffU,
        0x7f800000U, 0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU}) {
    out.push_back(std::bit_cast<float>(bits));
    out.push_back(std::bit_cast<float>(bits | 0x80000000U));
  }
  return out;
}

/// The definition, one value after the other.
inline std::int64_t plain_count_nonfinite(const float* values, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(values[i]) || std::isinf(values[i])) ++count;
  }
  return count;
}

/// `n` values, of which about one in five is not finite, always the same ones for one `seed`.
inline std::vector<float> mixed_floats(std::size_t n, std::uint32_t seed) {
  const std::vector<float> classes = floats_of_every_class();
  std::vector<float> out(n);
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : out) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t draw = state >> 8;
    value = draw % 2 == 0 ? static_cast<float>(draw) - 8e6F : classes[(draw >> 1) % classes.size()];
  }
  return out;
}

}  // namespace isobar
