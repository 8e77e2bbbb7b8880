#pragma once
// The tolerances, and how tensors are compared under them.
#include <ATen/core/Tensor.h>

#include "support/tolerance_values.h"

namespace isobar {

inline double largest(const at::Tensor& t) { return t.abs().max().item<double>(); }
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).abs().max().item<double>();
}

}  // namespace isobar
