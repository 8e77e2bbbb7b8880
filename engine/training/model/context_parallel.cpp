// The handle. What it does with several ranks is behind virtual functions, so that a program of one rank
// links neither autograd's nodes nor messages.
#include "model/context_parallel.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include "context/context_ranks.h"
#include "model/partial_gradients.h"

namespace isobar {
int ContextParallel::count() const { return ranks_ ? ranks_->count() : 1; }
int ContextParallel::index() const { return ranks_ ? ranks_->index() : 0; }

TokenShare ContextParallel::own(std::int64_t tokens) const {
  return ranks_ ? ranks_->own(tokens) : TokenShare{0, tokens};
}

at::Tensor ContextParallel::share(const at::Tensor& x, std::int64_t batch) const {
  return count() > 1 ? ranks_->share(x, batch) : x;
}

at::Tensor ContextParallel::unite(const at::Tensor& x, std::int64_t batch) const {
  return count() > 1 ? ranks_->unite(x, batch) : x;
}

at::Tensor ContextParallel::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
  return ranks_ ? ranks_->attend(q, k, v) : at::scaled_dot_product_attention(q, k, v);
}

void ContextParallel::sum_partial_gradients(Parameters& parameters) const {
  if (count() == 1 || has_fault(Fault::no_cp_reduce)) return;
  isobar::sum_partial_gradients(
      parameters,
      [](const Parameter& parameter) { return parameter.sums_over_cp || has_fault(Fault::reduce_all); },
      [this](const at::Tensor& message) { ranks_->all_reduce(message, "cp partial gradients"); });
}

TensorParallelFigures ContextParallel::take_figures() const {
  return ranks_ ? ranks_->take_figures() : TensorParallelFigures{};
}

std::int64_t ContextParallel::waited_us() const { return ranks_ ? ranks_->waited_us() : 0; }

}  // namespace isobar
