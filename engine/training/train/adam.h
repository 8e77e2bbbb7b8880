#pragma once
// Adam (Kingma and Ba 2015, algorithm 1) in plain tensor operations, each a pass over the flat buffers, or
// over what this process owns of them.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/config.h"
#include "core/seam.h"
#include "model/parameters.h"
#include "train/optimizer.h"

namespace isobar {

/// What Adam keeps from one update to the next.
struct AdamMoments {
  at::Tensor mean;         ///< m, as long as the weights
  at::Tensor square;       ///< v
  std::int64_t steps = 0;  ///< t: updates made so far
};

namespace seams {

/// One update of `weights` and `state`, as of Adam::step. Autograd does not watch.
extern constinit Seam<void(at::Tensor& weights, const at::Tensor& gradients, AdamMoments& state,
                           double learning_rate, const OptimConfig& config)>
    adam_update;

}  // namespace seams

class Adam final : public Optimizer {
 public:
  /// Updates `parameters` (materialised, and outliving this) with beta1, beta2 and eps of `config`; no weight
  /// decay.
  Adam(Parameters& parameters, const OptimConfig& config);

  /// One update with the gradients that are there: m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
  /// w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps).
  void step(double learning_rate);

  std::int64_t steps() const override { return states_.front().steps; }
  void set_steps(std::int64_t steps) override;
  /// Views of m and v by parameter: "exp_avg.<parameter>" and "exp_avg_sq.<parameter>".
  std::vector<NamedTensor> moments() const override;

 private:
  Parameters& parameters_;
  OptimConfig config_;
  at::Tensor mean_, square_;         ///< [own elements]
  std::vector<AdamMoments> states_;  ///< by piece of it: views of these
};

}  // namespace isobar
