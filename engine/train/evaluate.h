#pragma once
// Scores on the validation set, beside what a forecaster gets for free.
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"

namespace isobar {

/// Means over samples and batches, in normalised units (0.13 means 0.13 standard deviations of the channel).
struct Evaluation {
  std::int64_t samples = 0;
  double loss = 0;                       ///< relative L2
  std::vector<double> rmse;              ///< [C] latitude-weighted
  std::vector<double> persistence_rmse;  ///< [C], of "nothing changes": prediction = input
  std::vector<std::string> channel_names;

  /// The first channel is the headline of the tutorial (u10m).
  double headline_rmse() const { return rmse.front(); }
  double headline_persistence_rmse() const { return persistence_rmse.front(); }
};

/// Runs `forecast` ([B, C, H, W] -> [B, C, H, W]) without gradients over the whole of `dataset` in order, in
/// batches of at most `batch_size`; an incomplete last batch is dropped. Calls `on_progress(done, all)` in
/// samples after each batch.
Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    std::int64_t batch_size, c10::Device device,
                    const std::function<void(std::int64_t, std::int64_t)>& on_progress = {});

}  // namespace isobar
