#pragma once
// Gradients of which each rank of a model has a part, because it saw some of the tokens only.
#include <ATen/core/Tensor.h>

#include <functional>

#include "model/parameters.h"

namespace isobar {

/// Hands the own gradients (ParameterStore::own_gradients) of the parameters that are `partial` to
/// `all_reduce`, which replaces them by their sums, in one message; it is not called where there are none.
/// Without a copy where they lie one behind the other.
void sum_partial_gradients(const Parameters& parameters, const std::function<bool(const Parameter&)>& partial,
                           const std::function<void(const at::Tensor&)>& all_reduce);

}  // namespace isobar
