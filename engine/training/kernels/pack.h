#pragma once
// Normalised values in two bytes instead of four, for the way over a link. Weather in units of its own spread
// seldom leaves -8 .. 8: either form keeps three digits of it.
#include <cstdint>

namespace isobar {

inline constexpr float kPackedSteps =
    2048;  ///< steps of an i16: one is 1/2048, and +-32767 of them end at +-16
inline constexpr float kLargestHalf = 65504.0F;  ///< the largest IEEE half

/// `values[0 .. n)` as IEEE halves, rounded to nearest, ties to even; beyond +-65504 it is +-65504. Off by at
/// most 2^-11 of the value, below 2^-14 by at most 2^-25. Returns the index of the first value that is not
/// finite, -1 when all are; `out` means nothing then. Any thread may call it; the answer does not depend on
/// the instruction set.
std::int64_t pack_f16(const float* values, std::int64_t n, std::uint16_t* out);

/// Packs as multiples of 1/2048, rounded to nearest, ties to even: off by at most 1/4096 within +-15.9995,
/// beyond that +-32767 / 2048.
std::int64_t pack_i16(const float* values, std::int64_t n, std::int16_t* out);

/// Back again, exactly: every half and every i16 is a float32. An infinity stays one, a NaN stays a NaN.
void unpack_f16(const std::uint16_t* packed, std::int64_t n, float* out);
void unpack_i16(const std::int16_t* packed, std::int64_t n, float* out);

/// What `pack_f16` does when the processor cannot convert halves by itself; the same bits.
std::int64_t pack_f16_plain(const float* values, std::int64_t n, std::uint16_t* out);

}  // namespace isobar
