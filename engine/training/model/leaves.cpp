#include "model/leaves.h"

namespace isobar {
namespace {

RunningMoments running_moments(const Parameters& parameters, const std::string& name) {
  RunningMoments out;
  for (const Buffer& buffer : parameters.buffers()) {
    if (buffer.name == name + ".running_mean") out.mean = buffer.tensor;
    if (buffer.name == name + ".running_var") out.variance = buffer.tensor;
  }
  return out;
}

}  // namespace

LinearLeaves linear_leaves(const Parameters& parameters, const std::string& name, bool has_bias) {
  return {parameters.find(name + ".weight").tensor,
          has_bias ? parameters.find(name + ".bias").tensor : at::Tensor(), name};
}

NormLeaves norm_leaves(const Parameters& parameters, const std::string& name) {
  return {parameters.find(name + ".weight").tensor, parameters.find(name + ".bias").tensor,
          running_moments(parameters, name), name};
}

BlockLeaves block_leaves(Parameters& parameters, const std::string& name, bool joins_qkv) {
  BlockLeaves out;
  out.attention_name = name + ".attn";
  out.mlp_name = name + ".mlp";
  out.norm1 = norm_leaves(parameters, name + ".norm1");
  out.norm2 = norm_leaves(parameters, name + ".norm2");
  if (joins_qkv) {
    const auto joined = [&](const char* part) {
      const std::string attn = name + ".attn.";
      return parameters.join({attn + "q" + part, attn + "k" + part, attn + "v" + part});
    };
    out.qkv = {joined(".weight"), joined(".bias"), name + ".attn.qkv"};
  } else {
    out.q = linear_leaves(parameters, name + ".attn.q");
    out.k = linear_leaves(parameters, name + ".attn.k");
    out.v = linear_leaves(parameters, name + ".attn.v");
  }
  out.proj = linear_leaves(parameters, name + ".attn.proj");
  out.fc1 = linear_leaves(parameters, name + ".mlp.fc1");
  out.fc2 = linear_leaves(parameters, name + ".mlp.fc2");
  return out;
}

}  // namespace isobar
