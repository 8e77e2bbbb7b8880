#pragma once
// The parameters of each layer by their names, as a model that is no tree of layers takes them.
#include <ATen/core/Tensor.h>

#include <string>

#include "model/layers.h"
#include "model/parameters.h"

namespace isobar {

/// The parameters of a linear layer; `bias` is undefined for none.
struct LinearLeaves {
  at::Tensor weight, bias;
  std::string name;  ///< its module: what the parameters' names begin with
};

struct NormLeaves {
  at::Tensor weight, bias;
  RunningMoments running;  ///< moments of a norm over the batch
  std::string name;
};

struct BlockLeaves {
  NormLeaves norm1, norm2;
  LinearLeaves qkv;  ///< [3E, E] and [3E] over those of q, k and v, with fusion.qkv
  LinearLeaves q, k, v, proj, fc1, fc2;
  std::string attention_name, mlp_name;
};

LinearLeaves linear_leaves(const Parameters& parameters, const std::string& name, bool has_bias = true);
NormLeaves norm_leaves(const Parameters& parameters, const std::string& name);
/// The parameters of the block `name`; `joins_qkv`: q, k and v are one leaf from now on.
BlockLeaves block_leaves(Parameters& parameters, const std::string& name, bool joins_qkv);

}  // namespace isobar
