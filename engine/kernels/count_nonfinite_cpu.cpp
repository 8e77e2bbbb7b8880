#include <omp.h>

#include <algorithm>
#include <bit>

#include "kernels/count_nonfinite.h"

namespace isobar {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000U;        // all ones: an infinity or a NaN
constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // a 32-bit sum cannot overflow within one
constexpr std::int64_t kPerThread = kBlock / 4;  // 1 MiB: below it waking a thread costs more than it saves

/// One block; the compiler makes a version for each instruction set, and the loader picks at start.
__attribute__((target_clones("default", "avx2", "avx512f"))) std::uint32_t count_block(const float* values,
                                                                                       std::int64_t n) {
  std::uint32_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    count += static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent);
  }
  return count;
}

std::int64_t count_range(const float* values, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  for (std::int64_t at = begin; at < end; at += kBlock) {
    count += count_block(values + at, std::min(kBlock, end - at));
  }
  return count;
}

}  // namespace

std::int64_t count_nonfinite(const float* values, std::int64_t n) {
  const std::int64_t parts = std::clamp<std::int64_t>(n / kPerThread, 1, omp_get_max_threads());
  if (parts == 1) return count_range(values, 0, n);
  const int threads = static_cast<int>(parts);
  std::int64_t count = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : count)
  for (std::int64_t part = 0; part < parts; ++part) {
    count += count_range(values, n * part / parts, n * (part + 1) / parts);
  }
  return count;
}

}  // namespace isobar
