// Lesson 11: one round of alternate compression: what is sent, what is kept, and what is left for later.
// exercise.h states what is given and what is promised; ./isobar check 11_compression looks at what you
// wrote.
#include <ATen/TensorOperators.h>

#include "11_compression/exercise/exercise.h"

namespace isobar::mine {

using exercise::MatrixState;
using exercise::Projection;

// a.mm(b) is the product of two matrices, a.t() the transpose.
Projection project(const at::Tensor& matrix, const at::Tensor& kept) {
  // BEGIN M kept is sent. What of M is not in sent kept^T?
  //> return {};
  const at::Tensor sent = matrix.mm(kept);
  return {sent, matrix - sent.mm(kept.t())};
  // END
}

double length(const at::Tensor& column) { return column.norm().item<double>(); }

// Column j loses its share of each column before it; those are orthonormal. select() gives a view: what is
// written into it by an operation such as sub_ stands in `columns`. a.dot(b) is the product of two vectors.
void take_off(const at::Tensor& columns, std::int64_t j) {
  const at::Tensor column = columns.select(1, j);
  for (std::int64_t i = 0; i < j; ++i) {
    const at::Tensor before = columns.select(1, i);
    // BEGIN How much of `column` points along `before`? Take it off.
    column.sub_(before * before.dot(column));
    // END
  }
}

at::Tensor orthonormal(const at::Tensor& factor) {
  // A copy in double precision, so that one pass is exact enough.
  const at::Tensor out = factor.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  for (std::int64_t j = 0; j < out.size(1); ++j) {
    const at::Tensor column = out.select(1, j);
    double least = 1e-6 * length(column);
    take_off(out, j);
    // BEGIN If no more than `least` is left: unit vectors, one by one, until one has more. Then length 1.
    for (std::int64_t row = 0; length(column) <= least; ++row) {
      column.zero_();
      column[row].fill_(1);
      take_off(out, j);
      least = 1e-3;
    }
    column.div_(length(column));
    // END
  }
  return out.to(factor.scalar_type());
}

at::Tensor transform(const at::Tensor& gradient, MatrixState& state) {
  // BEGIN Which factor stays? Make it orthonormal, then project M, or M^T, on it. What is the next error?
  //> return {};
  const bool sends_p = state.step % 2 == 0;
  at::Tensor& kept = sends_p ? state.q : state.p;
  kept = orthonormal(kept);
  const at::Tensor matrix = gradient + state.error;
  const Projection out = project(sends_p ? matrix : matrix.t(), kept);
  state.error = sends_p ? out.left : out.left.t();
  return out.sent;
  // END
}

at::Tensor finish(const at::Tensor& sum, int ranks, MatrixState& state) {
  // BEGIN Which factor was sent? Keep the mean of all ranks there, count the step, and put P and Q together.
  //> return {};
  at::Tensor& received = state.step % 2 == 0 ? state.p : state.q;
  received = sum / ranks;
  ++state.step;
  return state.p.mm(state.q.t());
  // END
}

}  // namespace isobar::mine
