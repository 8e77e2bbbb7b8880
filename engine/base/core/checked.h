#pragma once
// Products of sizes that come from files: they must not wrap around.
#include <cstdint>
#include <optional>
#include <span>

namespace isobar {

/// The product of all `factors` times `start`, or nothing when one is negative or it does not fit 63 bits; a
/// zero among the factors does not hide the overflow of the others. `start` is positive.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors,
                                                   std::int64_t start = 1) {
  std::int64_t product = start;
  bool has_zero = false;
  for (const std::int64_t factor : factors) {
    has_zero = has_zero || factor == 0;
    if (factor < 0 || __builtin_mul_overflow(product, factor == 0 ? 1 : factor, &product))
      return std::nullopt;
  }
  return has_zero ? 0 : product;
}

}  // namespace isobar
