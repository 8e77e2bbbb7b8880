#pragma once
// What the matrix products of the model reach on this machine's processors, as its layers call them.
#include <cstdint>
#include <vector>

#include "config/choices.h"
#include "formula/machine_rates.h"
#include "run/repeats.h"

namespace isobar {

/// Samples in one piece of work.
struct TokenSize {
  std::int64_t batch = 4;
  std::int64_t tokens = 150;  ///< N
  std::int64_t embed = 96;    ///< E
  std::int64_t heads = 2;

  double values() const { return static_cast<double>(batch * tokens * embed); }
};

/// The products of `depth` blocks, forward and backward, with their weights' casts and gradients: 3 times
/// 24 E^2 operations a token and block. So many blocks that what one of them takes and keeps has to come back
/// as in a model.
RateAt measure_gemm(const TokenSize& size, std::int64_t depth, AmpMode mode, const Repeats& repeats);

/// The patch embedding, forward and backward to its weights: twice its operations.
double measure_patch(const VitShape& shape, std::int64_t batch, AmpMode mode, const Repeats& repeats);

struct AttentionRateAt {
  RateAt forward;
  RateAt backward;
};
/// Attention alone, between the products: 4 N^2 E operations a sample, and 2.5 times that.
AttentionRateAt measure_attention(const TokenSize& size, AmpMode mode, const Repeats& repeats);

}  // namespace isobar
