#pragma once
// Two buffers into one, value by value: the additions of an all-reduce. One thread; the caller cuts the work
// into pieces that stay in its cache.
#include <cstddef>
#include <cstdint>

#include "vector/instruction_set.h"

namespace isobar {

enum class CombineType { f32, f64, f16, bf16, i32, i64, u8 };

constexpr std::size_t bytes_of(CombineType type) {
  switch (type) {
    case CombineType::f64:
    case CombineType::i64:
      return 8;
    case CombineType::f32:
    case CombineType::i32:
      return 4;
    case CombineType::f16:
    case CombineType::bf16:
      return 2;
    case CombineType::u8:
      break;
  }
  return 1;
}

/// out[i] = a[i] + b[i], or the larger of both. Types of 16 bits are added in float32 and rounded to nearest,
/// ties to even; whole numbers wrap around. A NaN in either is a NaN in the larger. `divisor` != 1 divides
/// what was rounded and rounds again, as a sum that is divided afterwards does; of whole numbers it is
/// ignored. `out` may be `a` or `b`; other overlaps are not allowed. Nothing needs to be aligned to more than
/// its type.
struct Combine {
  CombineType type = CombineType::f32;
  bool takes_larger = false;
  int divisor = 1;
  std::int64_t n = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  void* also = nullptr;  ///< gets the same values; nullptr = nobody does
};

void combine(InstructionSet set, const Combine& job);

}  // namespace isobar
