#include "run/made_graph.h"

#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>

#include "device/autograd_calls.h"
#include "device/precision.h"
#include "train/autocast.h"

namespace isobar {

at::ScalarType activation_type(AmpMode mode) { return half_type(mode).value_or(at::kFloat); }

at::Tensor made_leaf(at::IntArrayRef shape, at::ScalarType type) {
  return at::randn(shape).to(type).requires_grad_();
}

PassTimes time_passes(const MadeGraph& graph, AmpMode mode, const Repeats& repeats) {
  std::vector<at::Tensor> roots, gradients;
  const auto forward = [&] {
    const Autocast autocast(mode, c10::Device(c10::kCPU));
    roots = graph.forward();
  };
  forward();
  for (const at::Tensor& root : roots) gradients.push_back(at::randn_like(root.detach()));
  const auto backward = [&] {
    if (graph.adds_up) {
      torch::autograd::backward(roots, gradients, std::nullopt, /*create_graph=*/false, {});
    } else {
      torch::autograd::grad(roots, graph.leaves, gradients, std::nullopt, /*create_graph=*/false,
                            /*allow_unused=*/false);
    }
    roots.clear();
  };
  const std::vector<double> times_us = median_times_us({forward, backward}, repeats);
  return {times_us[0], times_us[1]};
}

}  // namespace isobar
