#pragma once
// Products of sizes that come from files: they must not wrap around.
#include <cstdint>
#include <optional>
#include <span>

namespace isobar {

/// The product of all `factors` times `start`, or nothing when one is negative or it does not fit 63 bits.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors,
                                                   std::int64_t start = 1) {
  std::int64_t product = start;
  for (const std::int64_t factor : factors) {
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace isobar
