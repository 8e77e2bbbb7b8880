#pragma once
// What is given and what is promised in the exercise of lesson 11. You write my/11_alternate_round.cpp.
// A gradient is a matrix [n, m] of float32; its factors P [n, r] and Q [m, r] have r columns, and r is at
// most n and m.
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isobar::exercise {

/// Given: what a rank keeps of one gradient from step to step.
struct MatrixState {
  at::Tensor error;       ///< [n, m] what this rank has not sent yet, E; zeros at first
  at::Tensor p;           ///< [n, r] the mean over the ranks that was last received; zeros at first
  at::Tensor q;           ///< [m, r] likewise; random at first, by one seed on all ranks
  std::int64_t step = 0;  ///< compressed steps that have ended
};

/// A matrix M [n, m] and a factor `kept` [m, r], whose columns are orthonormal.
struct Projection {
  at::Tensor sent;  ///< [n, r] M kept
  at::Tensor left;  ///< [n, m] what of M is not in sent kept^T
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// What is sent of `matrix`, and what that leaves.
exercise::Projection project(const at::Tensor& matrix, const at::Tensor& kept);

/// r orthonormal columns [n, r] that span what the columns of `factor` [n, r] span, to 1e-5. A column of
/// which the ones before it leave nothing (a millionth of its length) is replaced, so that there always are
/// r. Equal bits give equal bits.
at::Tensor orthonormal(const at::Tensor& factor);

/// What this rank sends in this step: P in steps 0, 2, 4 and so on, Q in steps 1, 3, 5. The other factor
/// stays, and is orthonormal in `state` from then on. M is the gradient and the error of the step before;
/// state.error becomes what of M this rank does not send. `gradient` stays as it is.
at::Tensor transform(const at::Tensor& gradient, exercise::MatrixState& state);

/// The all-reduce is done: `sum` is the sum over all ranks of what each of them sent. Keeps its mean, ends
/// the step, and returns the gradient of all ranks, P Q^T.
at::Tensor finish(const at::Tensor& sum, int ranks, exercise::MatrixState& state);

}  // namespace isobar::mine
