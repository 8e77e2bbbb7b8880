#pragma once
// What is neither a product nor attention in a training step on this machine's processors: norms, GELU and
// sums of the blocks, un-patching and loss, the update of the weights, and copying as such.
#include <cstdint>

#include "config/choices.h"
#include "formula/machine_rates.h"
#include "run/measure_products.h"
#include "run/repeats.h"

namespace isobar {

/// The rate of `depth` blocks forward and backward, plain (model/layers.h) or with every fusion of the model;
/// bytes as formula/step_time counts them. So many blocks that what one of them keeps has to come back as in
/// a model.
RateAt measure_elements(const TokenSize& size, std::int64_t depth, AmpMode mode, bool fused,
                        const Repeats& repeats);

/// Un-patching and relative L2 loss of a batch, forward and backward, plain or as one kernel: microseconds a
/// value of its target.
double measure_ends(const VitShape& shape, std::int64_t batch, bool fused, const Repeats& repeats);

/// The rate of an update of a model's parameters by plain operations, or by the fused kernels; bytes as
/// formula/step_time counts them. No cache holds any of them before, like in a step.
RateAt measure_adam(const VitShape& shape, bool fused, const Repeats& repeats);

/// The rate of a copy of half of `bytes` to the other half: both are counted.
double measure_copy(std::int64_t bytes, const Repeats& repeats);

}  // namespace isobar
