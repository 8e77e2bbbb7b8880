// The handle. What it does with several ranks is behind virtual functions, so that a program of one rank
// links neither autograd's nodes nor messages.
#include "model/tensor_parallel.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>

#include <vector>

namespace isobar {

int TensorParallel::count() const { return ranks_ ? ranks_->count() : 1; }
int TensorParallel::index() const { return ranks_ ? ranks_->index() : 0; }
bool TensorParallel::shares_tokens() const { return ranks_ && ranks_->shares_tokens(); }
bool TensorParallel::bias_behind_sum() const { return !ranks_ || !has_fault(Fault::bias_before_reduce); }

Shard TensorParallel::part(std::int64_t dim) const {
  return {dim, index(), count(), !ranks_ || !has_fault(Fault::same_seed_shards)};
}

at::Tensor TensorParallel::enter(const at::Tensor& x) const { return ranks_ ? ranks_->enter(x) : x; }
at::Tensor TensorParallel::leave(const at::Tensor& x) const { return ranks_ ? ranks_->leave(x) : x; }

at::Tensor TensorParallel::share(const at::Tensor& x) const {
  return shares_tokens() ? ranks_->own_tokens(x) : x;
}

at::Tensor TensorParallel::unite(const at::Tensor& x) const { return shares_tokens() ? ranks_->unite(x) : x; }

void TensorParallel::sum_partial_gradients(Parameters& parameters) const {
  if (!shares_tokens()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.sums_over_tp) parts.push_back(parameters.own_gradients(parameter));
  }
  const at::Tensor message = at::concat(parts);
  if (message.numel() == 0) return;  // none of them is this replica's, on any rank of the model
  ranks_->all_reduce(message, "tp partial gradients");
  std::int64_t begin = 0;
  for (at::Tensor& part : parts) {
    part.copy_(message.narrow(0, begin, part.numel()));
    begin += part.numel();
  }
}

void TensorParallel::sum(const at::Tensor& contribution) const {
  if (ranks_) ranks_->all_reduce(contribution, "tp gradient norm");
}

TensorParallelFigures TensorParallel::take_figures() const {
  return ranks_ ? ranks_->take_figures() : TensorParallelFigures{};
}

}  // namespace isobar
