#pragma once
// Adam (Kingma and Ba 2015, algorithm 1) in plain tensor operations, each a pass over the flat buffers.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/config.h"
#include "model/parameters.h"

namespace isobar {

class Adam {
 public:
  /// Updates `parameters` (materialised, and outliving this) with beta1, beta2 and eps of `config`; no weight
  /// decay.
  Adam(Parameters& parameters, const OptimConfig& config);

  /// One update with the gradients that are there: m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
  /// w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps).
  void step(double learning_rate);

 private:
  Parameters& parameters_;
  double beta1_;
  double beta2_;
  double eps_;
  std::int64_t steps_ = 0;
  at::Tensor mean_;    ///< m, as long as the flat buffers
  at::Tensor square_;  ///< v
};

}  // namespace isobar
