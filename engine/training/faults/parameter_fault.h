#pragma once
// Mistakes in weights, in gradients, and in the buffers that hold them. Each of these does nothing unless
// `fault` is one of its own.
#include <c10/core/ScalarType.h>

#include <optional>

#include "config/fault.h"
#include "model/parameters.h"

namespace isobar {

/// When the parameters are there: no_zero_grad; no_broadcast of replica `replica`, which draws weights of its
/// own, and no_init_sync of that one of the ranks that share tokens.
void spoil(const FaultSetting& fault, Parameters& parameters, int replica);

/// At the begin of step `step`: nan_weight.
void plant_in_weights(const FaultSetting& fault, Parameters& parameters, std::int64_t step);

/// Behind the backward pass of step `step`: nan_gradient, nan_in_padding, and inject_inf of a model that
/// trains alone; among several the loss of one rank overflows (faults/rank_fault.h).
void plant_in_gradients(const FaultSetting& fault, Parameters& parameters, std::int64_t step,
                        std::int64_t replicas);

/// Behind each update, and at the start: all_half rounds the weights to `half`.
void round_weights(const FaultSetting& fault, Parameters& parameters, std::optional<c10::ScalarType> half);

/// When replicas were compared in front of step `step`: flip_bit of the last parameter.
void flip_bit_of_weight(const FaultSetting& fault, Parameters& parameters, std::int64_t step);

}  // namespace isobar
