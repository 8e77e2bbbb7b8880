#include "train/gradient_hooks.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace isobar {

/// The node that adds to a gradient. Its tensor holds it weakly, so it is held here.
struct GradientHooks::Held {
  std::shared_ptr<torch::autograd::Node> accumulator;
  std::uintptr_t key;
};

GradientHooks::GradientHooks(const std::vector<at::Tensor>& leaves, std::function<void(std::size_t)> ready) {
  using Values = torch::autograd::variable_list;
  const auto shared = std::make_shared<std::function<void(std::size_t)>>(std::move(ready));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(leaves[i]);
    const auto hook = [shared, i](const Values& outputs, const Values&) {
      (*shared)(i);
      return outputs;
    };
    const std::uintptr_t key =
        accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(hook));
    held_.push_back({std::move(accumulator), key});
  }
}

std::size_t GradientHooks::count() const { return held_.size(); }

GradientHooks::~GradientHooks() {
  for (const Held& held : held_) held.accumulator->del_post_hook(held.key);
}

bool has_hooks(const std::vector<at::Tensor>& leaves) {
  return std::any_of(leaves.begin(), leaves.end(), [](const at::Tensor& leaf) {
    return !torch::autograd::impl::grad_accumulator(leaf)->post_hooks().empty();
  });
}

}  // namespace isobar
