#pragma once
// Adam (Kingma and Ba 2015, algorithm 1) in plain tensor operations, each a pass over the flat buffers.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "model/parameters.h"
#include "train/optimizer.h"

namespace isobar {

class Adam final : public Optimizer {
 public:
  /// Updates `parameters` (materialised, and outliving this) with beta1, beta2 and eps of `config`; no weight
  /// decay.
  Adam(Parameters& parameters, const OptimConfig& config);

  /// One update with the gradients that are there: m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
  /// w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps).
  void step(double learning_rate);

  std::int64_t steps() const override { return steps_; }  ///< t: updates made so far
  void set_steps(std::int64_t steps) override { steps_ = steps; }
  /// Views of m and v by parameter: "exp_avg.<parameter>" and "exp_avg_sq.<parameter>".
  std::vector<NamedTensor> moments() const override;

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
