#pragma once
// Our side of the operations of `bench fusion`: each forward and backward as the lessons use it, with the
// memory that it allocates and the work of autograd. R rows = tokens of the batch, E embed, F = 4 E, P patch,
// C channels.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/worker_data.h"

namespace isobar {

struct FusedOp {
  std::function<std::vector<at::Tensor>()> run;  ///< results and gradients, in the order of fusion_peer.py
  std::int64_t moved_bytes = 0;                  ///< every operand of every pass once
};

/// What all operations start from, float32 on the CPU; written for the peer.
NamedTensors fusion_inputs(const nlohmann::ordered_json& sheet);

/// adam, bias_gelu, residual_norm, qkv, head_loss or grad_norm with activations of `type` ("f32" or "bf16"),
/// its inputs on `device`. An unknown name is an Error.
FusedOp make_fused_op(const std::string& name, const std::string& type, const nlohmann::ordered_json& sheet,
                      const NamedTensors& inputs, c10::Device device);

}  // namespace isobar
