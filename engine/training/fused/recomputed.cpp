#include "fused/recomputed.h"

#include <ATen/core/grad_mode.h>

#include <vector>

#include "config/fault.h"
#include "device/autograd_calls.h"
#include "fused/forward_state.h"

namespace isobar {
namespace {

/// Nested backward: gradients of parameters arrive within it, each once.
TensorPair gradients_of(const TensorPair& inputs, const TensorPair& results, const TensorPair& gradients) {
  std::vector<at::Tensor> roots, of_roots;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!gradients[i].defined()) continue;
    roots.push_back(results[i]);
    of_roots.push_back(gradients[i]);
  }
  torch::autograd::backward(roots, of_roots, /*retain_graph=*/false, /*create_graph=*/false, {});
  return {inputs[0].grad(), inputs[1].grad()};
}

}  // namespace

TensorPair recomputed(const TensorPair& inputs, const Recomputed& function) {
  std::vector<at::Tensor> kept = {inputs[0]};
  if (!function.second) kept.push_back(inputs[1]);
  const ForwardState state(inputs[0].device(), function.draws);
  const auto backward = [again = function.again, second = function.second, state](
                            const std::vector<at::Tensor>& values, const TensorPair& gradients) {
    TensorPair leaves = {values[0].detach(), {}};
    TensorPair results;
    {
      const RestoredState restored(state);
      leaves[1] = (second ? second(leaves[0]) : values[1]).detach();
      for (at::Tensor& leaf : leaves) leaf.set_requires_grad(true);
      const at::AutoGradMode records(!has_fault(Fault::checkpoint_under_no_grad));
      results = again(leaves);
    }
    return has_fault(Fault::checkpoint_under_no_grad) ? TensorPair{}
                                                      : gradients_of(leaves, results, gradients);
  };
  return with_gradient(inputs, kept, {function.forward, backward});
}

}  // namespace isobar
