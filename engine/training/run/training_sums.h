#pragma once
// Means over the steady steps of a run that trains: its stages, its loader, its collectives.
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "data/loader.h"
#include "running/steady_sums.h"
#include "train/sync_figures.h"

namespace isobar {

class TrainingSums {
 public:
  /// Adds a step of all replicas' `samples`; `loader`: what it did for this step, `ready` and `slots` as they
  /// are now.
  void add(std::int64_t samples, const StageTimes& times, const LoaderCounts& loader,
           const SyncFigures& sync);
  /// Steady state begins anew.
  void clear() { *this = {}; }
  bool empty() const { return means_.empty(); }

  /// The means, and the rank that most of these steps waited for. Leaves `out` as it is where there is none.
  void put_into(RunSummary& out) const;

 private:
  SteadySums means_;
  ProcessorTime processor_;  ///< the training loop's, at the end of the first steady step
  LoaderCounts loader_;
  bool total_known_ = true;               ///< SyncFigures::total_us of every step
  std::vector<std::int64_t> waited_for_;  ///< how many of these steps waited for each rank
};

}  // namespace isobar
