#pragma once
// Arithmetic that compilers turn into vector code: no branches, no calls. For the bodies of cpu_forms.h.
#include <bit>
#include <cstdint>

#include "kernels/cpu_forms.h"
#include "kernels/element_type.h"
#include "kernels/normal_tail.h"

namespace isobar {

// How a value of each type lies in memory, and its way to float32 and back: to nearest, ties to even, too
// large becomes an infinity, a NaN stays one.

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
    // As the bits of a float it is 2^-112 of the value: 127 - 15 is the distance of the exponents' origins.
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

/// Calls use(Float32()), use(Float16()) or use(Bfloat16()).
template <typename Use>
void with_type(ElementType type, const Use& use) {
  switch (type) {
    case ElementType::f32:
      return use(Float32());
    case ElementType::f16:
      return use(Float16());
    case ElementType::bf16:
      return use(Bfloat16());
  }
}

/// e^-s for s >= 0, to 1.5 units in the last place of float32; 0 from s = 87, where e^-s is 1.6e-38.
ISOBAR_INLINE float exp_of_minus(float s) {
  constexpr float kLeast = 87.0F;
  constexpr float kRound = 0x1.8p23F;  // adding it leaves no place behind the point
  const float near = s < kLeast ? s : kLeast;
  const float shifted = near * -1.44269504F + kRound;
  const float power = shifted - kRound;
  // ln 2 in two parts, of which the first has few enough bits that power x part is exact.
  const float rest = (-near - power * 0.693359375F) + power * 2.12194440e-4F;
  float sum = 1.38145985e-3F;  // e^x = 1 + x + x^2 P(x) on +-ln(2)/2, fitted to 3e-9
  sum = sum * rest + 8.36871689e-3F;
  sum = sum * rest + 4.16683880e-2F;
  sum = sum * rest + 1.66665206e-1F;
  sum = sum * rest + 4.99999934e-1F;
  sum = sum * (rest * rest) + rest + 1.0F;
  const std::int32_t exponent = static_cast<std::int32_t>(power) + 127;
  const float scaled = sum * std::bit_cast<float>(exponent << 23);
  return s < kLeast ? scaled : 0.0F;
}

/// 1 - Phi(a) for a >= 0, where bell = e^(-a^2/2): kernels/normal_tail.h.
ISOBAR_INLINE float normal_tail(float a, float bell) {
  const float scaled = kTailRate * (a < kTailFarthest ? a : kTailFarthest);
  const float w = scaled / (1.0F + scaled);
  float sum = kTail7;
  sum = sum * w + kTail6;
  sum = sum * w + kTail5;
  sum = sum * w + kTail4;
  sum = sum * w + kTail3;
  sum = sum * w + kTail2;
  sum = sum * w + kTail1;
  sum = sum * w + kTail0;
  return bell * (sum * w + 0.5F);
}

}  // namespace isobar
