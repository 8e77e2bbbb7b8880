#pragma once
// Operations with a gradient of their own, as autograd sees them.
#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <vector>

namespace isobar {

struct WithGradient {
  using Call = std::function<at::Tensor(const at::Tensor&)>;
  Call forward;           ///< y of x; autograd does not look inside
  Call backward;          ///< the gradient of x, of that of y
  bool in_place = false;  ///< forward writes into x, and returns it
};

/// forward(x), as a node of the graph that holds `backward`.
at::Tensor with_gradient(const at::Tensor& x, const WithGradient& calls);

using TensorPair = std::array<at::Tensor, 2>;

struct PairWithGradient {
  std::function<TensorPair(const TensorPair& inputs)> forward;  ///< autograd does not look inside
  /// The gradients of the inputs, of those of the results, of which one may be undefined; `kept` as they were
  /// handed in. Whatever else it holds lives as long as the graph.
  std::function<TensorPair(const std::vector<at::Tensor>& kept, const TensorPair& gradients)> backward;
};

/// forward(inputs), as a node of the graph that holds `kept` until backward is through.
TensorPair with_gradient(const TensorPair& inputs, const std::vector<at::Tensor>& kept,
                         const PairWithGradient& calls);

using TensorTriple = std::array<at::Tensor, 3>;

struct TripleResults {
  std::vector<at::Tensor> results;
  std::vector<at::Tensor> kept;  ///< inputs, results, and what forward made beside
};

/// The third input may be undefined.
struct TripleWithGradient {
  std::function<TripleResults(const TensorTriple& inputs)> forward;  ///< autograd does not look inside
  /// The gradients of the inputs, of those of the results, of which some may be undefined; `kept` as forward
  /// gave it.
  std::function<TensorTriple(const std::vector<at::Tensor>& kept, const std::vector<at::Tensor>& gradients)>
      backward;
};

/// The results of forward(inputs), as a node of the graph that holds `kept` until backward is through.
std::vector<at::Tensor> with_gradient(const TensorTriple& inputs, const TripleWithGradient& calls);

}  // namespace isobar
