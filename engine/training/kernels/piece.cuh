#pragma once
// What our CUDA kernels share: values in groups that one instruction moves, the three element types, and sums
// over a warp in a fixed order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "kernels/element_type.h"
#include "kernels/launch.cuh"

namespace isobar {

/// `kWidth` neighbouring values, loaded and stored in one go.
template <typename Value, int kWidth>
struct alignas(sizeof(Value) * kWidth) Piece {
  Value values[kWidth];
};

/// The values that 16 bytes hold, the most that a thread moves at once.
template <typename Value>
inline constexpr int kWide = static_cast<int>(16 / sizeof(Value));

inline bool is_aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(__half value) { return __half2float(value); }
__device__ inline float widened(__nv_bfloat16 value) { return __bfloat162float(value); }

/// To nearest, ties to even.
template <typename To>
__device__ To rounded(float value);
template <>
__device__ inline float rounded<float>(float value) {
  return value;
}
template <>
__device__ inline __half rounded<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 rounded<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

/// The sum over a warp, the same bits in all its lanes: partners add the same two numbers.
template <typename Number>
__device__ Number warp_sum(Number value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  return value;
}

/// Rows of piece `piece` of `pieces`: kernels/column_sums.h.
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};
__device__ inline RowRange rows_of_piece(std::int64_t rows, std::int64_t piece, std::int64_t pieces) {
  return {rows * piece / pieces, rows * (piece + 1) / pieces};
}

/// Calls `run` with a value of the C++ type behind `type`.
template <typename Run>
void with_element_type(ElementType type, const Run& run) {
  switch (type) {
    case ElementType::f32:
      return run(float{});
    case ElementType::f16:
      return run(__half{});
    case ElementType::bf16:
      return run(__nv_bfloat16{});
  }
}

}  // namespace isobar
