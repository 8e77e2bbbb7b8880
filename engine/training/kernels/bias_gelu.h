#pragma once
// Bias and GELU in one pass: y = gelu(x + b) with the exact form gelu(u) = u/2 (1 + erf(u / sqrt 2)).
// Plain, the bias is an epilogue or a pass of its own and GELU another that reads and writes everything
// again.
#include <cstdint>

#include "kernels/element_type.h"
#include "vector/instruction_set.h"

struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// x and y: [rows, columns] of `type`, row-major without gaps; bias: [columns] float32.
/// The arithmetic is float32 whatever the type. y may be x.
struct BiasGeluForward {
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const void* x = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;
  bool tanh_form =
      false;  ///< the mistake run.fault = tanh_gelu: u/2 (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3)))
};

/// dx = dy gelu'(x + b), gelu'(u) = (1 + erf(u / sqrt 2))/2 + u exp(-u^2/2) / sqrt(2 pi), and
/// dbias = sum over rows of dx (before it is rounded to `type`). dx may be dy.
struct BiasGeluBackward {
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const void* x = nullptr;
  const float* bias = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  float* dbias = nullptr;    ///< [columns], written
  float* scratch = nullptr;  ///< column_sum_scratch(rows, columns, 1) values
  bool tanh_form = false;
};

/// Bytes that must go to and from memory: every operand once.
std::int64_t moved_bytes(const BiasGeluForward& job);
std::int64_t moved_bytes(const BiasGeluBackward& job);

void bias_gelu_cpu(const BiasGeluForward& job, InstructionSet set = best_instruction_set());
void bias_gelu_cpu(const BiasGeluBackward& job, InstructionSet set = best_instruction_set());
/// On `stream`, all pointers on its device; Error (exit code 1) when the launch is refused.
void bias_gelu_cuda(const BiasGeluForward& job, CUstream_st* stream);
void bias_gelu_cuda(const BiasGeluBackward& job, CUstream_st* stream);

}  // namespace isobar
