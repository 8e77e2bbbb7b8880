#include <bit>

#include "kernels/cpu_forms.h"
#include "kernels/gradient_norm.h"

namespace isobar {
namespace {

/// Pieces begin .. end - 1. Their counts go behind all sums in the scratch; float64 holds them exactly.
struct Pieces {
  const GradientNorm& job;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t first = job.n * piece / kGradientNormPieces;
      const std::int64_t last = job.n * (piece + 1) / kGradientNormPieces;
      const float* const values = job.gradients;
      double sum = 0;
      std::uint32_t bad = 0;
#pragma omp simd reduction(+ : sum, bad)
      for (std::int64_t i = first; i < last; ++i) {
        const auto value = static_cast<double>(values[i]);
        sum += value * value;
        bad += static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & 0x7f800000U) ==
                                          0x7f800000U);
      }
      job.scratch[piece] = sum;
      job.scratch[kGradientNormPieces + piece] = static_cast<double>(bad);
    }
  }
};

}  // namespace

void gradient_norm_cpu(const GradientNorm& job, InstructionSet set) {
  for_parts(set, kGradientNormPieces, job.n, Pieces{job});
  double sum = 0;
  double bad = 0;
  for (std::int64_t piece = 0; piece < kGradientNormPieces; ++piece) {
    sum += job.scratch[piece];
    bad += job.scratch[kGradientNormPieces + piece];
  }
  *job.sum_of_squares = sum;
  *job.nonfinite = static_cast<std::int64_t>(bad);
}

}  // namespace isobar
