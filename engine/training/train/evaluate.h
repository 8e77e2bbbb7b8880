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
  // Only ensembles have these; latitude-weighted.
  double crps = 0;  ///< fair CRPS of all members
  /// What the error of the ensemble's mean would be if the truth were one more member: the root of the
  /// ensemble variance, of M - 1 degrees of freedom, times (M + 1) / M (Fortin et al. 2014, J. Hydrometeorol.
  /// 15). Of each sample, as the RMSE is.
  double spread = 0;
};

/// Scores of the first channel at a later forecast of a rollout.
struct LeadScores {
  double rmse = 0;
  double persistence_rmse = 0;  ///< against the input of the first forecast
};

struct Evaluation {
  bool complete = false;  ///< false when it was stopped on the way: then there are no scores
  std::int64_t samples = 0;
  std::int64_t members = 1;  ///< M; the mean of the members is the forecast that is scored
  double loss = 0;           ///< relative L2
  std::vector<ChannelScores> channels;
  std::vector<LeadScores> later = {};  ///< forecasts 2 to R of a rollout; all else is the first's
  bool has_climatology = false;        ///< else climatology_rmse and acc are 0 and mean nothing
  /// [3, C, H, W] on the CPU: input, target and prediction of the first sample; with M > 1 [4, C, H, W], and
  /// its spread.
  at::Tensor fields;

  /// The first channel is the headline of the tutorial (u10m).
  const ChannelScores& headline() const { return channels.front(); }
};

/// Runs `forecast` ([B, C, H, W] -> [B, C, H, W]) without gradients over one epoch of `loader`, which hands
/// out `dataset` in order, and whole where `dataset` is a band of it (train/shared_reading.h). Calls
/// `go_on(done, all)` in samples after each batch, and stops when that is false.
Evaluation evaluate(const std::function<at::Tensor(const at::Tensor&)>& forecast, const Dataset& dataset,
                    Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on = {});

/// With `forecasts` of a batch by all members of an ensemble, [M, B, C, H, W], as many as `dataset` has leads
/// (Pipeline::forecast_members).
Evaluation evaluate(const std::function<std::vector<at::Tensor>(const Batch&)>& forecasts,
                    const Dataset& dataset, Loader& loader, c10::Device device,
                    const std::function<bool(std::int64_t, std::int64_t)>& go_on = {});

}  // namespace isobar
