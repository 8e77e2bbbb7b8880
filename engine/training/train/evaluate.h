#pragma once
// Scores on the validation set, beside what a forecaster gets for free.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"

namespace isobar {

/// Means over samples and batches of one channel, in normalised units (0.13 means 0.13 standard deviations).
struct ChannelScores {
  std::string name;
  double rmse = 0;              ///< latitude-weighted
  double persistence_rmse = 0;  ///< score of "nothing changes": prediction = input
  double climatology_rmse = 0;  ///< score of "as always at this place": prediction = mean over time
  double acc = 0;               ///< correlation of anomalies from the climatology
};

struct Evaluation {
  bool complete = false;  ///< false when it was stopped on the way: then there are no scores
  std::int64_t samples = 0;
  double loss = 0;  ///< relative L2
  std::vector<ChannelScores> channels;
  bool has_climatology = false;  ///< else climatology_rmse and acc are 0 and mean nothing
  at::Tensor fields;  ///< [3, C, H, W] on the CPU: input, target and prediction of the first sample

  /// The first channel is the headline of the tutorial (u10m).
  const ChannelScores& headline() const { return channels.front(); }
};

/// Runs `forecast` ([B, C, H, W] -> [B, C, H, W]) without gradients over one epoch of `loader`, which hands
/// out `dataset` in order. Calls `go_on(done, all)` in samples after each batch, and stops when that is
/// false.
Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on = {});

}  // namespace isobar
