#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "kernels/normalise.h"

namespace isobar {
namespace {

constexpr std::int64_t kLine = 16;                // floats in a cache line
constexpr std::uint32_t kExponent = 0x7f800000U;  // all ones: an infinity or a NaN

std::int64_t one_by_one(const float* in, float* out, std::int64_t n, float mean, float spread) {
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = (in[i] - mean) / spread;
    out[i] = value;
    bad += static_cast<std::int64_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return bad;
}

std::int64_t sum_of(const std::int32_t* counts, std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += counts[i];
  return sum;
}

// Each of these three takes a multiple of kLine values; with streaming stores `out` begins with a cache line,
// so that lines are written whole and never read. A comparison gives -1 in every lane that is not finite.

template <Stores kStores>
std::int64_t lines_sse2(const float* in, float* out, std::int64_t n, float mean, float spread) {
  const __m128 means = _mm_set1_ps(mean);
  const __m128 spreads = _mm_set1_ps(spread);
  const __m128i exponent = _mm_set1_epi32(static_cast<int>(kExponent));
  __m128i bad = _mm_setzero_si128();
  for (std::int64_t i = 0; i < n; i += 4) {
    const __m128 value = _mm_div_ps(_mm_sub_ps(_mm_loadu_ps(in + i), means), spreads);
    bad = _mm_sub_epi32(bad, _mm_cmpeq_epi32(_mm_and_si128(_mm_castps_si128(value), exponent), exponent));
    if constexpr (kStores == Stores::streaming) {
      _mm_stream_ps(out + i, value);
    } else {
      _mm_storeu_ps(out + i, value);
    }
  }
  alignas(16) std::int32_t counts[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(counts), bad);
  return sum_of(counts, 4);
}

template <Stores kStores>
__attribute__((target("avx2"))) std::int64_t lines_avx2(const float* in, float* out, std::int64_t n,
                                                        float mean, float spread) {
  const __m256 means = _mm256_set1_ps(mean);
  const __m256 spreads = _mm256_set1_ps(spread);
  const __m256i exponent = _mm256_set1_epi32(static_cast<int>(kExponent));
  __m256i bad = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < n; i += 8) {
    const __m256 value = _mm256_div_ps(_mm256_sub_ps(_mm256_loadu_ps(in + i), means), spreads);
    bad = _mm256_sub_epi32(
        bad, _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_castps_si256(value), exponent), exponent));
    if constexpr (kStores == Stores::streaming) {
      _mm256_stream_ps(out + i, value);
    } else {
      _mm256_storeu_ps(out + i, value);
    }
  }
  alignas(32) std::int32_t counts[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts), bad);
  return sum_of(counts, 8);
}

template <Stores kStores>
__attribute__((target("avx512f"))) std::int64_t lines_avx512(const float* in, float* out, std::int64_t n,
                                                             float mean, float spread) {
  const __m512 means = _mm512_set1_ps(mean);
  const __m512 spreads = _mm512_set1_ps(spread);
  const __m512i exponent = _mm512_set1_epi32(static_cast<int>(kExponent));
  const __m512i one = _mm512_set1_epi32(1);
  __m512i bad = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < n; i += 16) {
    const __m512 value = _mm512_div_ps(_mm512_sub_ps(_mm512_loadu_ps(in + i), means), spreads);
    const __mmask16 is_bad =
        _mm512_cmpeq_epi32_mask(_mm512_and_si512(_mm512_castps_si512(value), exponent), exponent);
    bad = _mm512_mask_add_epi32(bad, is_bad, bad, one);
    if constexpr (kStores == Stores::streaming) {
      _mm512_stream_ps(out + i, value);
    } else {
      _mm512_storeu_ps(out + i, value);
    }
  }
  alignas(64) std::int32_t counts[16];
  _mm512_store_si512(counts, bad);
  return sum_of(counts, 16);
}

using Lines = std::int64_t (*)(const float*, float*, std::int64_t, float, float);

template <Stores kStores>
Lines lines_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::sse2:
      return lines_sse2<kStores>;
    case InstructionSet::avx2:
      return lines_avx2<kStores>;
    case InstructionSet::avx512:
      return lines_avx512<kStores>;
  }
  return lines_sse2<kStores>;
}

/// Values in front of the first whole cache line.
std::int64_t before_line(const float* at) {
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) / sizeof(float) % kLine);
  return (kLine - past) % kLine;
}

}  // namespace

std::int64_t normalise_values_with(InstructionSet set, const float* in, float* out, std::int64_t n,
                                   float mean, float spread, Stores stores) {
  const bool streams = stores == Stores::streaming;
  const std::int64_t head = streams ? std::min(before_line(out), n) : 0;
  const std::int64_t body = (n - head) / kLine * kLine;
  const Lines lines = streams ? lines_of<Stores::streaming>(set) : lines_of<Stores::cached>(set);
  std::int64_t bad = one_by_one(in, out, head, mean, spread);
  bad += lines(in + head, out + head, body, mean, spread);
  const std::int64_t done = head + body;
  bad += one_by_one(in + done, out + done, n - done, mean, spread);
  if (streams) _mm_sfence();  // streaming stores have no order with stores that announce them
  return bad;
}

std::int64_t normalise_values(const float* in, float* out, std::int64_t n, float mean, float spread,
                              Stores stores) {
  return normalise_values_with(best_instruction_set(), in, out, n, mean, spread, stores);
}

}  // namespace isobar
