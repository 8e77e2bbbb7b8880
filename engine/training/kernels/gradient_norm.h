#pragma once
// Length of all gradients together and the search for overflow, in one pass that nobody waits for.
// Plain, it is a norm a tensor, a norm of norms, and a number fetched by the host.
#include <cstdint>

#include "vector/instruction_set.h"

struct CUstream_st;

namespace isobar {

/// sum_of_squares = sum g^2 in float64 (of all values: not finite when one is not), nonfinite = how many are
/// NaN or infinite. Pieces are summed in a fixed order: the same values give the same bits.
struct GradientNorm {
  std::int64_t n = 0;
  const float* gradients = nullptr;
  double* sum_of_squares = nullptr;   ///< scalar, written
  std::int64_t* nonfinite = nullptr;  ///< scalar, written
  double* scratch = nullptr;          ///< kGradientNormScratch values
};

inline constexpr std::int64_t kGradientNormPieces = 1024;
inline constexpr std::int64_t kGradientNormScratch = 2 * kGradientNormPieces;

std::int64_t moved_bytes(const GradientNorm& job);

void gradient_norm_cpu(const GradientNorm& job, InstructionSet set = best_instruction_set());
void gradient_norm_cuda(const GradientNorm& job, CUstream_st* stream);

}  // namespace isobar
