#pragma once
// Means over the steady steps of a run: those after the warm-up.
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "record/run_summary.h"
#include "running/stage_clock.h"

namespace isobar {

class SteadySums {
 public:
  /// A figure of a step, and the field that gets its mean.
  using Figure = std::pair<double RunSummary::*, std::int64_t>;

  /// Adds a step of all replicas' `samples`; `figures` name the same fields in every step.
  void add(std::int64_t samples, const StageTimes& times, std::initializer_list<Figure> figures = {});
  bool empty() const { return steps_ == 0; }

  /// Leaves `out` as it is where there is none.
  void put_into(RunSummary& out) const;

 private:
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;
  StageTimes times_;
  std::vector<Figure> figures_;
};

}  // namespace isobar
