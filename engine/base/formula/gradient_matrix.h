#pragma once
// Gradients as matrices.
#include <cstdint>
#include <vector>

#include "formula/vit_counts.h"

namespace isobar {

/// One row: a vector, which is never compressed.
struct GradientMatrix {
  std::int64_t rows = 1;     ///< n
  std::int64_t columns = 0;  ///< m

  std::int64_t count() const { return rows * columns; }
  std::int64_t rank(std::int64_t wanted) const;  ///< r = min(n, m, wanted)
};

/// Rows are the first dimension that is not 1: the positions [1, N, E] are N x E.
GradientMatrix matrix_of(const std::vector<std::int64_t>& sizes);

/// Gradients of a vision transformer from its last parameter to its first: the order in which backward makes
/// them, but for a bucket or so. Those of q, k and v are one each of weights and of biases where they are
/// joined (fusion.qkv). The positions come last.
std::vector<GradientMatrix> gradient_matrices(const VitShape& shape, bool joins_qkv);
/// The positions as the one row that their tensor [1, N, E] makes by its first dimension (fault flat_view).
std::vector<GradientMatrix> with_flat_positions(std::vector<GradientMatrix> gradients);

}  // namespace isobar
