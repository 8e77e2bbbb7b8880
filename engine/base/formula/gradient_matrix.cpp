#include "formula/gradient_matrix.h"

#include <algorithm>
#include <utility>

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

std::vector<GradientMatrix> gradient_matrices(const VitShape& s, bool joins_qkv) {
  const std::int64_t e = s.embed, c = s.channels * s.patch * s.patch;
  std::vector<GradientMatrix> out;
  const auto add = [&](std::initializer_list<std::int64_t> sizes) { out.push_back(matrix_of(sizes)); };
  const auto add_norm = [&] {
    add({e});
    add({e});
  };
  const auto add_product = [&](std::int64_t outputs, std::int64_t inputs) {
    add({outputs, inputs});
    add({outputs});
  };
  add({1, s.tokens(), e});
  add_product(e, c);
  for (std::int64_t block = 0; block < s.depth; ++block) {
    add_norm();
    if (joins_qkv) {
      add_product(3 * e, e);
    } else {
      for (int part = 0; part < 3; ++part) add_product(e, e);
    }
    add_product(e, e);
    add_norm();
    add_product(4 * e, e);
    add_product(e, 4 * e);
  }
  add_norm();
  add({c, e});
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<GradientMatrix> with_flat_positions(std::vector<GradientMatrix> gradients) {
  gradients.back() = {.rows = 1, .columns = gradients.back().count()};
  return gradients;
}

}  // namespace isobar
