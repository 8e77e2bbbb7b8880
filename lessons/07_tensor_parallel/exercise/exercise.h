#pragma once
// What is given and what is promised in the exercise of lesson 07. You write my/07_parallel_mlp.cpp.
// R tokens, E values of each, F hidden units, t ranks.
#include <ATen/core/Tensor.h>

#include <functional>
#include <stdexcept>

namespace isobar::exercise {

/// Given: the all-reduce. The sum of `part` over the ranks, the same on all of them; `part` stays as it is.
/// It waits for the other ranks, so all ask for the same sums in the same order. Autograd does not record it:
/// that is why f and g are functions of autograd.
using SumOverRanks = std::function<at::Tensor(const at::Tensor& part)>;

/// One of the ranks that share a model.
struct RankOfModel {
  int index = 0;  ///< from 0
  int count = 1;  ///< t
  SumOverRanks sum;
};

/// torch keeps a matrix as [outputs, inputs], the transpose of the page's W: its columns are rows here.
/// gelu(x w1^T + b1) w2^T + b2 with the exact gelu, the default of at::gelu: hidden unit i has row i of w1,
/// value i of b1 and column i of w2.
struct MlpWeights {
  at::Tensor w1;  ///< [F, E]
  at::Tensor b1;  ///< [F]
  at::Tensor w2;  ///< [E, F]
  at::Tensor b2;  ///< [E]
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: what rank `rank.index` holds. Rank 0 has the first F/t hidden units, rank 1 the next, and so on;
/// b2 is whole on all. Throws std::invalid_argument where t does not divide F.
exercise::MlpWeights cut_mlp(const exercise::MlpWeights& whole, const exercise::RankOfModel& rank);

/// f: passes `x` through; backward it replaces the gradient of x by its sum over the ranks. One rank alone
/// sends nothing.
at::Tensor enter(const at::Tensor& x, const exercise::RankOfModel& rank);

/// g: the sum of `part` over the ranks; backward it passes the gradient through. One rank alone sends
/// nothing.
at::Tensor leave(const at::Tensor& part, const exercise::RankOfModel& rank);

/// The MLP on one of its ranks, with what cut_mlp gave it: [..., E] -> [..., E], the output of the whole one
/// on every rank, with one sum forward and one backward.
at::Tensor parallel_mlp(const at::Tensor& x, const exercise::MlpWeights& own,
                        const exercise::RankOfModel& rank);

}  // namespace isobar::mine
