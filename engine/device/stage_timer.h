#pragma once
// Where the time of a step goes. A step is a bag of stages, each entered any number of times; what no stage
// covers is the rest, and stages and rest sum to the step.
#include <array>
#include <cstddef>
#include <cstdint>

namespace isobar {

enum class Stage : std::size_t { load, copy, forward, backward, comm, optimize };
inline constexpr std::array<const char*, 6> kStageNames = {"load",     "copy", "forward",
                                                           "backward", "comm", "optimize"};

/// Microseconds of one step on one clock.
struct StageTimes {
  std::array<std::int64_t, kStageNames.size()> stage_us{};
  std::array<bool, kStageNames.size()> entered{};
  std::int64_t rest_us = 0;  ///< outside of all stages, measured like them: what the page does between them
  std::int64_t step_us = 0;  ///< by the outer clock; stages and rest sum to it
};

/// Times one step on the host's steady clock. On a CPU device the host does the work, so this is the device
/// clock too.
class StageTimer {
 public:
  StageTimer();
  /// Ends the stage that is running, if any, and starts `stage`.
  void enter(Stage stage);
  /// Ends the running stage; time until the next `enter` belongs to no stage.
  void leave();
  /// Ends the step.
  StageTimes finish();

 private:
  void close(std::int64_t now_us);

  std::int64_t begin_us_;
  std::int64_t since_us_;  ///< when the running stage, or the rest, began
  std::size_t current_ = kStageNames.size();
  StageTimes times_;
};

}  // namespace isobar
