#pragma once
// Operations with a gradient of their own, as autograd sees them.
#include <ATen/core/Tensor.h>

#include <functional>

namespace isobar {

struct WithGradient {
  using Call = std::function<at::Tensor(const at::Tensor&)>;
  Call forward;           ///< y of x; autograd does not look inside
  Call backward;          ///< the gradient of x, of that of y
  bool in_place = false;  ///< forward writes into x, and returns it
};

/// forward(x), as a node of the graph that holds `backward`.
at::Tensor with_gradient(const at::Tensor& x, const WithGradient& calls);

}  // namespace isobar
