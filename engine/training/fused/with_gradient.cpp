#include "fused/with_gradient.h"

namespace isobar {

TensorPair with_gradient(const TensorPair& inputs, const std::vector<at::Tensor>& kept,
                         const PairWithGradient& calls) {
  const std::vector<at::Tensor> out =
      with_gradient(TensorTriple{inputs[0], inputs[1], at::Tensor()},
                    {.forward = [&](const TensorTriple& in) -> TripleResults {
                       const TensorPair results = calls.forward({in[0], in[1]});
                       return {{results[0], results[1]}, kept};
                     },
                     .backward =
                         [backward = calls.backward](const std::vector<at::Tensor>& values,
                                                     const std::vector<at::Tensor>& gradients) {
                           const TensorPair found = backward(values, {gradients[0], gradients[1]});
                           return TensorTriple{found[0], found[1], at::Tensor()};
                         }});
  return {out[0], out[1]};
}

}  // namespace isobar
