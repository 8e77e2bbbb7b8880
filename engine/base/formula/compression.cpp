#include "formula/compression.h"

#include <algorithm>

namespace isobar {

std::int64_t GradientMatrix::rank(std::int64_t wanted) const { return std::min({rows, columns, wanted}); }

GradientMatrix matrix_of(const std::vector<std::int64_t>& sizes) {
  std::size_t first = 0;
  while (first < sizes.size() && sizes[first] == 1) ++first;
  GradientMatrix out{.rows = 1, .columns = 1};
  for (std::size_t dim = first; dim < sizes.size(); ++dim)
    (dim == first ? out.rows : out.columns) *= sizes[dim];
  if (out.columns == 1) std::swap(out.rows, out.columns);
  return out;
}

bool is_compressed(const GradientMatrix& matrix, std::int64_t rank, double min_ratio) {
  if (matrix.rows == 1 || matrix.columns == 1) return false;
  const auto sent = static_cast<double>((matrix.rows + matrix.columns) * matrix.rank(rank));
  return sent * min_ratio < static_cast<double>(matrix.count());
}

}  // namespace isobar
