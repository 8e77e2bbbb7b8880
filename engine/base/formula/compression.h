#pragma once
// Gradients as matrices, and what of them travels as low-rank factors P [n, r] and Q [m, r]: M = P Q^T.
// (Vogels et al. 2019, "PowerSGD"; Zhang et al. 2023, alternate compression.)
#include <cstdint>
#include <vector>

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

/// (n + m) r min_ratio < n m; never a vector.
bool is_compressed(const GradientMatrix& matrix, std::int64_t rank, double min_ratio);

}  // namespace isobar
