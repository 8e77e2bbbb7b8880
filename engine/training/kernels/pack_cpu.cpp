#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/pack.h"
#include "vector/instruction_set.h"

namespace isobar {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000U;  // all ones: an infinity or a NaN
constexpr std::int64_t kBlock = 4096;             // looked at for bad values while it is in the cache

std::uint32_t is_bad(float value) {
  return static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
}

/// A finite value as a half, in integers.
std::uint16_t half_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude =
      std::min(bits & 0x7fffffffU, std::bit_cast<std::uint32_t>(kLargestHalf));  // order of bits = of values
  // Normal halves: the exponent's origin moves from 127 to 15; adding just under half of the last place kept,
  // or half where it is odd, rounds to nearest even, and a carry goes into the exponent as it should.
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  const std::uint32_t normal = (magnitude + 0xc8000fffU + odd) >> 13;
  // Subnormal halves are multiples of 2^-24, which is the last place of a float in 0.5 .. 1: adding 0.5
  // rounds.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                              std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t half = magnitude < 0x38800000U ? small : normal;  // 2^-14 is the least normal half
  return static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000U));
}

// Forms for one instruction set each.

__attribute__((always_inline)) inline std::uint32_t count_bad_loop(const float* values, std::int64_t n) {
  std::uint32_t bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad += is_bad(values[i]);
  return bad;
}
std::uint32_t count_bad_sse2(const float* values, std::int64_t n) { return count_bad_loop(values, n); }
__attribute__((target("avx2"))) std::uint32_t count_bad_avx2(const float* values, std::int64_t n) {
  return count_bad_loop(values, n);
}

std::int16_t i16_of(float value) {
  // Adding 1.5 x 2^23 leaves no place behind the point: what is within +-2^22 is rounded to nearest even.
  constexpr float kRound = 12'582'912.0F;
  const float steps = std::min(std::max(value * kPackedSteps, -32767.0F), 32767.0F);
  return static_cast<std::int16_t>(static_cast<std::int32_t>((steps + kRound) - kRound));
}

void i16_plain(const float* values, std::int64_t n, std::int16_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = i16_of(values[i]);
}

__attribute__((target("avx2"))) __m256i eight_steps(const float* values) {
  const __m256 steps = _mm256_mul_ps(_mm256_loadu_ps(values), _mm256_set1_ps(kPackedSteps));
  const __m256 least = _mm256_max_ps(steps, _mm256_set1_ps(-32767.0F));
  return _mm256_cvtps_epi32(_mm256_min_ps(least, _mm256_set1_ps(32767.0F)));  // to nearest even
}

__attribute__((target("avx2"))) void i16_avx2(const float* values, std::int64_t n, std::int16_t* out) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    // The halves of both are packed side by side; the permutation puts them one after the other.
    const __m256i packed = _mm256_packs_epi32(eight_steps(values + i), eight_steps(values + i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(packed, 0b11011000));
  }
  i16_plain(values + i, n - i, out + i);
}

void f16_plain(const float* values, std::int64_t n, std::uint16_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = half_of(values[i]);
}

__attribute__((target("avx2,f16c"))) void f16_converted(const float* values, std::int64_t n,
                                                        std::uint16_t* out) {
  const __m256 most = _mm256_set1_ps(kLargestHalf);
  const __m256 least = _mm256_set1_ps(-kLargestHalf);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 eight = _mm256_min_ps(_mm256_max_ps(_mm256_loadu_ps(values + i), least), most);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(eight, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  for (; i < n; ++i) out[i] = half_of(values[i]);
}

bool has_avx2() { return best_instruction_set() >= InstructionSet::avx2; }

/// The index of the first value that is not finite, -1 when all are; `pack` fills one block of `out`.
template <typename Packed, typename Pack>
std::int64_t pack_blocks(const float* values, std::int64_t n, Packed* out, Pack pack) {
  const auto count_bad = has_avx2() ? count_bad_avx2 : count_bad_sse2;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, n - begin);
    if (count_bad(values + begin, length) > 0) {
      std::int64_t bad = begin;
      while (is_bad(values[bad]) == 0) ++bad;
      return bad;
    }
    pack(values + begin, length, out + begin);
  }
  return -1;
}

}  // namespace

std::int64_t pack_f16_plain(const float* values, std::int64_t n, std::uint16_t* out) {
  return pack_blocks(values, n, out, f16_plain);
}

std::int64_t pack_f16(const float* values, std::int64_t n, std::uint16_t* out) {
  return pack_blocks(values, n, out, has_avx2() ? f16_converted : f16_plain);
}

std::int64_t pack_i16(const float* values, std::int64_t n, std::int16_t* out) {
  return pack_blocks(values, n, out, has_avx2() ? i16_avx2 : i16_plain);
}

void unpack_f16(const std::uint16_t* packed, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t sign = static_cast<std::uint32_t>(packed[i] & 0x8000U) << 16;
    const std::uint32_t magnitude = packed[i] & 0x7fffU;
    // Read as the bits of a float it is 2^-112 of the value: 127 - 15 is the distance of the exponents'
    // origins.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const std::uint32_t bits =
        magnitude >= 0x7c00U ? kExponent | (magnitude << 13) : std::bit_cast<std::uint32_t>(value);
    out[i] = std::bit_cast<float>(bits | sign);
  }
}

void unpack_i16(const std::int16_t* packed, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(packed[i]) * (1.0F / kPackedSteps);
}

}  // namespace isobar
