#pragma once
// How large gradients are, by their power of two: what of them fp16 can hold. A run writes it, readers draw
// it.
#include <array>
#include <cstdint>
#include <span>

#include "record/json_line.h"

namespace isobar {

/// Powers of two that bound fp16 (IEEE 754 binary16): below 2^-14 it has fewer digits (subnormal numbers),
/// below 2^-24 nothing but zero, from 2^16 on infinity.
inline constexpr int kHalfNormal = -14;
inline constexpr int kHalfSubnormal = -24;
inline constexpr int kHalfTooLarge = 16;

struct GradientHistogram {
  static constexpr int kLeast = -127;  ///< stands for all float32 subnormals
  static constexpr int kMost = 127;

  std::int64_t step = 0;
  double scale = 1;  ///< loss scale: by so much the gradients are larger than without it
  std::int64_t zero = 0;
  std::int64_t nonfinite = 0;
  std::array<std::int64_t, kMost - kLeast + 1> counts{};  ///< [e - kLeast]: 2^e <= |g| < 2^(e+1)

  void add(std::span<const float> values);
  std::int64_t at(int exponent) const { return counts.at(static_cast<std::size_t>(exponent - kLeast)); }
  /// Values that are not zero and below 2^exponent.
  std::int64_t below(int exponent) const;
  /// All values.
  std::int64_t values() const;
};

/// The `gradients` line of the stream: step, t_us, scale, values, zero, nonfinite, below_normal and
/// below_subnormal (of fp16), and "e-20" and so on for every power of two that occurs.
JsonLine gradients_event(const GradientHistogram& histogram, std::int64_t t_us);

}  // namespace isobar
