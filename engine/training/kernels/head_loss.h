#pragma once
// The relative L2 loss straight from the head's tokens: the forecast is never put back into an image.
// Plain, un-patching copies the whole forecast, and difference and norms are passes of their own.
#include <cstdint>

#include "kernels/element_type.h"
#include "vector/instruction_set.h"

struct CUstream_st;

namespace isobar {

/// B samples of C x H x W, patches of P x P. Token (row, column) of a sample holds its outputs in the order
/// (p, q, c), c fastest: tokens[b][row W/P + column][(p P + q) C + c] is the forecast of
/// target[b][c][row P + p][column P + q].
struct HeadLossShape {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t patch = 0;
};

/// sums[b] = { sum (tokens - target)^2, sum target^2 } over sample b, and
/// loss = mean over b of sqrt(sums[b][0] / sums[b][1]).
struct HeadLossForward {
  ElementType type = ElementType::f32;
  HeadLossShape shape;
  const void* tokens = nullptr;   ///< [B, N, P P C] of `type`
  const float* target = nullptr;  ///< [B, C, H, W]
  double* sums = nullptr;         ///< [B, 2]
  float* loss = nullptr;          ///< scalar
  double* scratch = nullptr;      ///< head_loss_scratch(shape) values
};

/// dtokens = dloss / (B sqrt(sums[b][0] sums[b][1])) (tokens - target); zero where sums[b][0] is zero.
struct HeadLossBackward {
  ElementType type = ElementType::f32;
  HeadLossShape shape;
  const void* tokens = nullptr;
  const float* target = nullptr;
  const double* sums = nullptr;
  const float* dloss = nullptr;  ///< scalar: the loss scale under fp16
  void* dtokens = nullptr;       ///< [B, N, P P C] of `type`; may be tokens
};

/// Partial sums, in float64: a fixed number of pieces a sample, so that the same values give the same bits.
inline constexpr std::int64_t kHeadLossPieces = 128;
constexpr std::int64_t head_loss_scratch(const HeadLossShape& shape) {
  return shape.batch * kHeadLossPieces * 2;
}

std::int64_t moved_bytes(const HeadLossForward& job);
std::int64_t moved_bytes(const HeadLossBackward& job);

void head_loss_cpu(const HeadLossForward& job, InstructionSet set = best_instruction_set());
void head_loss_cpu(const HeadLossBackward& job, InstructionSet set = best_instruction_set());
void head_loss_cuda(const HeadLossForward& job, CUstream_st* stream);
void head_loss_cuda(const HeadLossBackward& job, CUstream_st* stream);

}  // namespace isobar
