#include <algorithm>
#include <atomic>
#include <bit>

#include "kernels/count_nonfinite.h"
#include "kernels/cpu_forms.h"

namespace isobar {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000U;        // all ones: an infinity or a NaN
constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // a 32-bit sum cannot overflow within one

struct CountNonfinite {
  const float* values;
  std::atomic<std::int64_t>* count;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    std::int64_t found = 0;
    for (std::int64_t at = begin; at < end; at += kBlock) {
      const std::int64_t last = std::min(at + kBlock, end);
      std::uint32_t in_block = 0;
      for (std::int64_t i = at; i < last; ++i) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
        in_block += static_cast<std::uint32_t>((bits & kExponent) == kExponent);
      }
      found += in_block;
    }
    *count += found;
  }
};

}  // namespace

std::int64_t count_nonfinite(const float* values, std::int64_t n, InstructionSet set) {
  std::atomic<std::int64_t> count{0};
  for_parts(set, n, n, CountNonfinite{values, &count});
  return count;
}

}  // namespace isobar
