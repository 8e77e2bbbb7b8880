#pragma once
// The residual stream and the LayerNorm behind it in one pass: sum = x + (a + b), y = LayerNorm(sum), cast.
// Plain, these are a bias, an addition, a norm and under mixed precision up to three casts, each a pass.
#include <cstdint>

#include "kernels/element_type.h"
#include "vector/instruction_set.h"

struct CUstream_st;

namespace isobar {

/// Per row r over its `columns` values: sum = x + a + branch_bias, mean, rstd = 1 / sqrt(variance + eps)
/// (variance over columns, not columns - 1), y = (sum - mean) rstd weight + bias.
/// x, sum: [rows, columns] float32; a, y: the same of `type`; branch_bias, weight, bias: [columns] float32.
struct ResidualNormForward {
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const float* x = nullptr;
  const void* a = nullptr;             ///< null: nothing is added, and `sum` is not written
  const float* branch_bias = nullptr;  ///< null: none
  const float* weight = nullptr;
  const float* bias = nullptr;
  float eps = 1e-6F;
  float* sum = nullptr;  ///< may be x
  void* y = nullptr;
  float* mean = nullptr;  ///< [rows]
  float* rstd = nullptr;  ///< [rows]
};

/// With n = (sum - mean) rstd and g = dy weight: dsum_total = dsum + rstd (g - mean(g) - n mean(g n)), means
/// over the row. It is the gradient of x, and rounded to `type` that of a. dweight = sum over rows of dy n,
/// dbias = sum over rows of dy, dbranch_bias = sum over rows of dsum_total.
struct ResidualNormBackward {
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const float* sum = nullptr;  ///< x where forward added nothing
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  const void* dy = nullptr;     ///< [rows, columns] of `type`
  const float* dsum = nullptr;  ///< gradient that reaches the residual stream directly; null: zero
  float* dx = nullptr;          ///< [rows, columns]; may be dsum
  void* da = nullptr;           ///< [rows, columns] of `type`; null: not wanted (dx serves where type is f32)
  float* dweight = nullptr;     ///< [columns], written
  float* dbias = nullptr;       ///< [columns], written
  float* dbranch_bias = nullptr;  ///< [columns], written; null: not wanted
  float* scratch = nullptr;       ///< column_sum_scratch(rows, columns, 3) values
};

std::int64_t moved_bytes(const ResidualNormForward& job);
std::int64_t moved_bytes(const ResidualNormBackward& job);

void residual_norm_cpu(const ResidualNormForward& job, InstructionSet set = best_instruction_set());
void residual_norm_cpu(const ResidualNormBackward& job, InstructionSet set = best_instruction_set());
void residual_norm_cuda(const ResidualNormForward& job, CUstream_st* stream);
void residual_norm_cuda(const ResidualNormBackward& job, CUstream_st* stream);

}  // namespace isobar
