#pragma once
// How a value of each type lies in memory, and its way to float32 and back: to nearest, ties to even, too
// large becomes an infinity, a NaN stays one. No branches, no calls: for the bodies of forms.h.
#include <bit>
#include <cstdint>

#include "vector/forms.h"

namespace isobar {

struct Float32 {
  using Stored = float;
  ISOBAR_INLINE static float load(float stored) { return stored; }
  ISOBAR_INLINE static float store(float value) { return value; }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  ISOBAR_INLINE static float load(std::uint16_t stored) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16);
  }
  ISOBAR_INLINE static std::uint16_t store(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);  // a carry goes into the exponent
    return static_cast<std::uint16_t>((value == value ? rounded : bits | 0x400000U) >> 16);
  }
};

struct Float16 {
  using Stored = std::uint16_t;
  ISOBAR_INLINE static float load(std::uint16_t stored) {
    const std::uint32_t sign = static_cast<std::uint32_t>(stored & 0x8000U) << 16;
    const std::uint32_t magnitude = stored & 0x7fffU;
    // Read as the bits of a float it is 2^-112 of the value: 127 - 15 is the distance of the exponents'
    // origins.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const std::uint32_t bits =
        magnitude >= 0x7c00U ? 0x7f800000U | (magnitude << 13) : std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>(bits | sign);
  }
  ISOBAR_INLINE static std::uint16_t store(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const std::uint32_t normal = (magnitude + 0xc8000fffU + ((magnitude >> 13) & 1U)) >> 13;
    // Subnormal halves are multiples of 2^-24, the last place of a float in 0.5 .. 1: adding 0.5 rounds.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                                std::bit_cast<std::uint32_t>(0.5F);
    const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;  // 2^-14 is the least normal half
    const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    // 65520 lies in the middle between the largest half and what would be the next: to even is an infinity.
    const std::uint32_t half = magnitude < 0x477ff000U ? finite : large;
    return static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000U));
  }
};

}  // namespace isobar
