#pragma once
// The leaves of a model as GradientBuckets wants them.
#include <vector>

#include "model/parameters.h"
#include "train/gradient_buckets.h"

namespace isobar {

/// In the order of parameters.leaves().
inline std::vector<GradientPlace> gradient_places(const Parameters& parameters) {
  std::vector<GradientPlace> out;
  for (const ParameterLeaf& leaf : parameters.leaves())
    out.push_back({leaf.name, leaf.flat_begin, leaf.tensor.numel()});
  return out;
}

inline std::vector<at::Tensor> leaf_tensors(const Parameters& parameters) {
  std::vector<at::Tensor> out;
  for (const ParameterLeaf& leaf : parameters.leaves()) out.push_back(leaf.tensor);
  return out;
}

}  // namespace isobar
