#pragma once
// Local SGD: ranks make comm.local_steps steps of their own, then average their weights (Stich 2019), with
// an outer optimiser on how far they moved (DiLoCo, Douillard et al. 2023):
//
//   d = w_before - mean(w);  v = momentum v + d;  w = w_before - lr (d + momentum v)      Nesterov's momentum
//
// lr 1 and momentum 0, the default, is the plain mean. Moments of the inner optimiser stay each rank's own.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "comm/comm.h"
#include "config/config.h"
#include "model/parameters.h"
#include "train/sync_figures.h"

namespace isobar {

class WeightAverage {
 public:
  /// `parameters` (as training begins or continues with them, equal on all ranks) and `comm` outlive it. The
  /// velocity begins at 0.
  WeightAverage(Parameters& parameters, Comm& comm, const CommConfig& config, std::int64_t steps);

  /// Behind the update of `step`, from 0: where comm.average is weights, every comm.local_steps steps and
  /// behind the last, weights of all ranks become equal. All ranks call it alike.
  SyncFigures average_when_due(std::int64_t step);
  /// At once, before a checkpoint; nothing where comm.average is gradients, or where weights are averaged by
  /// now.
  SyncFigures average();

 private:
  bool is_at_work() const { return config_.average == Averaged::weights && comm_.size() > 1; }

  Parameters& parameters_;
  Comm& comm_;
  CommConfig config_;
  std::int64_t steps_;   ///< all steps
  at::Tensor start_;     ///< w_before, as long as the flat weights; undefined: the plain mean
  at::Tensor velocity_;  ///< v
  bool is_averaged_ = true;
};

}  // namespace isobar
