#pragma once
// A piece of a model between leaves and roots: forward makes the roots, backward starts from them.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "config/choices.h"
#include "run/repeats.h"

namespace isobar {

/// The type of activations with this amp.mode.
at::ScalarType activation_type(AmpMode mode);

/// A tensor that wants a gradient, with values of spread 1.
at::Tensor made_leaf(at::IntArrayRef shape, at::ScalarType type = at::kFloat);

struct PassTimes {
  double forward_us = 0;
  double backward_us = 0;
  double total_us() const { return forward_us + backward_us; }
};

struct MadeGraph {
  std::function<std::vector<at::Tensor>()> forward;  ///< the roots
  std::vector<at::Tensor> leaves;                    ///< whose gradients are asked for
  bool adds_up = false;  ///< gradients are added to those of the leaves, as those of weights are
};

/// Medians; forward runs under autocast to the type of `mode`, backward outside, as in a lesson.
PassTimes time_passes(const MadeGraph& graph, AmpMode mode, const Repeats& repeats);

}  // namespace isobar
