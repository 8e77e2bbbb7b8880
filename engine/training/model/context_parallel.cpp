// The handle. What it does with several ranks is behind virtual functions, so that a program of one rank
// links neither autograd's nodes nor messages.
#include "model/context_parallel.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <vector>

#include "context/context_ranks.h"

namespace isobar {
namespace {

/// Gradients that are of the own tokens only, as far as they are this rank's to update: parameters that lie
/// one behind the other are one run.
std::vector<at::Tensor> partial_gradients(const Parameters& parameters) {
  std::vector<at::Tensor> runs;
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.sums_over_cp && !has_fault(Fault::reduce_all)) continue;
    const at::Tensor own = parameters.own_gradients(parameter);
    if (own.numel() == 0) continue;
    const bool follows =
        !runs.empty() &&
        runs.back().const_data_ptr<float>() + runs.back().numel() == own.const_data_ptr<float>() &&
        runs.back().storage().is_alias_of(own.storage());
    if (follows)
      runs.back() = runs.back().as_strided({runs.back().numel() + own.numel()}, {1});
    else
      runs.push_back(own);
  }
  return runs;
}

}  // namespace

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
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> runs = partial_gradients(parameters);
  if (runs.empty()) return;  // none of them is this replica's, on any of these ranks
  const at::Tensor message = runs.size() == 1 ? runs.front() : at::concat(runs);
  ranks_->all_reduce(message, "cp partial gradients");
  if (runs.size() == 1) return;
  std::int64_t begin = 0;
  for (const at::Tensor& run : runs) {
    run.copy_(message.narrow(0, begin, run.numel()));
    begin += run.numel();
  }
}

TensorParallelFigures ContextParallel::take_figures() const {
  return ranks_ ? ranks_->take_figures() : TensorParallelFigures{};
}

std::int64_t ContextParallel::waited_us() const { return ranks_ ? ranks_->waited_us() : 0; }

}  // namespace isobar
