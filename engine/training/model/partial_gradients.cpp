#include "model/partial_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>

#include <vector>

namespace isobar {
namespace {

/// Own gradients that lie one behind the other are one run.
std::vector<at::Tensor> gradient_runs(const Parameters& parameters,
                                      const std::function<bool(const Parameter&)>& partial) {
  std::vector<at::Tensor> runs;
  for (const Parameter& parameter : parameters.all()) {
    if (!partial(parameter)) continue;
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

void sum_partial_gradients(const Parameters& parameters, const std::function<bool(const Parameter&)>& partial,
                           const std::function<void(const at::Tensor&)>& all_reduce) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> runs = gradient_runs(parameters, partial);
  if (runs.empty()) return;  // none of them is this replica's, on any rank of the model
  const at::Tensor message = runs.size() == 1 ? runs.front() : at::concat(runs);
  all_reduce(message);
  if (runs.size() == 1) return;
  std::int64_t begin = 0;
  for (const at::Tensor& run : runs) {
    run.copy_(message.narrow(0, begin, run.numel()));
    begin += run.numel();
  }
}

}  // namespace isobar
