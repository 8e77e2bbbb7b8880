#pragma once
#include "config/config.h"
#include "formula/vit_counts.h"

namespace isobar {

/// The shape of the model that `config` asks for.
VitShape vit_shape(const Config& config);

/// Forecasts of a sample in a step: train.rollout, one behind the other, of each member of its ensemble.
std::int64_t forecasts_of_sample(const Config& config);

/// Operations of a sample in a step, forward and backward of all its forecasts: training_flops of a member's
/// first one, 3 x forward of each behind it, whose input has a gradient, too.
double sample_flops(const Config& config);

/// What attention takes of sample_flops.
double attention_flops(const Config& config);

}  // namespace isobar
