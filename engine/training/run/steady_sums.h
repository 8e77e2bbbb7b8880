#pragma once
// Means over the steady steps of a run: those after the warm-up.
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "data/loader.h"
#include "device/stage_timer.h"
#include "record/run_summary.h"
#include "train/sync_figures.h"

namespace isobar {

class SteadySums {
 public:
  /// Adds a step of all replicas' `samples`; `loader`: what it did for this step, `ready` and `slots` as they
  /// are now.
  void add(std::int64_t samples, const StageTimes& times, const LoaderCounts& loader,
           const SyncFigures& sync);
  /// Steady state begins anew.
  void clear() { *this = {}; }
  bool empty() const { return steps_ == 0; }

  /// The means, and the rank that most of these steps waited for. Leaves `out` as it is where there is none.
  void put_into(RunSummary& out) const;

 private:
  void add(const SyncFigures& sync);

  std::int64_t steps_ = 0;
  ProcessorTime processor_;  ///< the training loop's, at the end of the first steady step
  std::int64_t samples_ = 0;
  StageTimes times_;
  LoaderCounts loader_;
  SyncFigures sync_;
  std::vector<std::int64_t> waited_for_;  ///< how many of these steps waited for each rank
};

}  // namespace isobar
