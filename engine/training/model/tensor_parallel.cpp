// The handle. What it does with several ranks is behind virtual functions, so that a program of one rank
// links neither autograd's nodes nor messages.
#include "model/tensor_parallel.h"

#include "model/partial_gradients.h"

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
  isobar::sum_partial_gradients(
      parameters, [](const Parameter& parameter) { return parameter.sums_over_tp; },
      [this](const at::Tensor& message) { ranks_->all_reduce(message, "tp partial gradients"); });
}

void TensorParallel::sum(const at::Tensor& contribution) const {
  if (ranks_) ranks_->all_reduce(contribution, "tp gradient norm");
}

TensorParallelFigures TensorParallel::take_figures() const {
  return ranks_ ? ranks_->take_figures() : TensorParallelFigures{};
}

}  // namespace isobar
