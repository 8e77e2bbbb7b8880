#pragma once
// Where the time of a step goes. A step is a bag of stages, each entered any number of times; what no stage
// covers is the rest, and stages and rest sum to the step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "core/stage.h"

namespace isobar {

/// Microseconds of one step.
struct StageTimes {
  std::array<std::int64_t, kStageNames.size()> stage_us{};
  std::array<bool, kStageNames.size()> entered{};
  std::int64_t rest_us = 0;  ///< outside of all stages: what the page does between them
  std::int64_t step_us = 0;  ///< from first to last

  std::int64_t of(Stage stage) const { return stage_us[static_cast<std::size_t>(stage)]; }
};

/// A stretch of time in which one stage ran.
struct StageInterval {
  Stage stage;
  std::int64_t begin_us;  ///< on the host's steady clock (core/clock.h)
  std::int64_t end_us;
};

/// Times one step on the host's steady clock.
class StageClock {
 public:
  static constexpr std::size_t kRest = kStageNames.size();

  /// `keeps_intervals` for a timeline: not only sums.
  explicit StageClock(bool keeps_intervals = false)
      : begin_us_(steady_us()), since_us_(begin_us_), keeps_intervals_(keeps_intervals) {}

  /// Ends the stage that is running, if any, and starts `stage`.
  void enter(Stage stage) {
    leave();
    running_ = static_cast<std::size_t>(stage);
    times_.entered[running_] = true;
  }
  /// Ends the running stage; time until the next `enter` belongs to no stage.
  void leave() {
    const std::int64_t now_us = steady_us();
    (running_ == kRest ? times_.rest_us : times_.stage_us[running_]) += now_us - since_us_;
    if (keeps_intervals_ && running_ != kRest)
      intervals_.push_back({static_cast<Stage>(running_), since_us_, now_us});
    times_.step_us = now_us - begin_us_;
    since_us_ = now_us;
    running_ = kRest;
  }

  /// The index of the running stage, or kRest.
  std::size_t running() const { return running_; }
  /// What was measured up to the last call of `enter` or `leave`.
  const StageTimes& times() const { return times_; }
  const std::vector<StageInterval>& intervals() const { return intervals_; }

 private:
  std::int64_t begin_us_;
  std::int64_t since_us_;  ///< when the running stage, or the rest, began
  std::size_t running_ = kRest;
  bool keeps_intervals_;
  StageTimes times_;
  std::vector<StageInterval> intervals_;
};

}  // namespace isobar
