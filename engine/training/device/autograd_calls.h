#pragma once
// Passes of autograd from several results at once, as torch/csrc/autograd/autograd.h declares them. That
// header costs every file that asks 4 s to compile; tests/training/train/test_gradient_sync.cpp includes
// both, so that they agree.
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch::autograd {

TORCH_API void backward(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& grad_tensors,
                        std::optional<bool> retain_graph, bool create_graph,
                        const std::vector<at::Tensor>& inputs);
TORCH_API std::vector<at::Tensor> grad(const std::vector<at::Tensor>& outputs,
                                       const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& grad_outputs,
                                       std::optional<bool> retain_graph, bool create_graph,
                                       bool allow_unused);

}  // namespace torch::autograd
