#pragma once
// Arithmetic that compilers turn into vector code: no branches, no calls. For the bodies of cpu_forms.h.
#include <bit>
#include <cstdint>

#include "kernels/cpu_forms.h"
#include "kernels/element_type.h"
#include "kernels/normal_tail.h"
#include "vector/stored_types.h"

namespace isobar {

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
