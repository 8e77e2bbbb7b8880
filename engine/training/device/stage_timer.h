#pragma once
// Where the time of a step goes, on two clocks. A step is a bag of stages, each entered any number of times;
// what no stage covers is the rest, and stages and rest sum to the step. The host's clock gives when the
// program asked for work, the device's when that work was done: on a CPU they are one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/stage.h"
#include "device/device_clock.h"
#include "device/event_pool.h"

namespace isobar {

/// Microseconds of one step. On a device a stage lasts from when the device has done all that was asked of it
/// before the stage until it has done all of the stage: while the host loads and the device has nothing to
/// do, `load` grows.
struct StageTimes {
  std::array<std::int64_t, kStageNames.size()> stage_us{};       ///< on the device's clock
  std::array<std::int64_t, kStageNames.size()> stage_host_us{};  ///< on the host's
  std::array<bool, kStageNames.size()> entered{};
  std::int64_t rest_us = 0;  ///< outside of all stages, measured like them: what the page does between them
  std::int64_t rest_host_us = 0;
  std::int64_t step_us = 0;  ///< from first to last; stages and rest sum to it
  std::int64_t step_host_us = 0;
};

/// A stretch of time in which one stage ran.
struct StageInterval {
  Stage stage;
  std::int64_t begin_us;  ///< on the host's steady clock (core/clock.h)
  std::int64_t end_us;
};

/// The times of a step whose end the device may not have reached yet.
class PendingStageTimes {
 public:
  PendingStageTimes(PendingStageTimes&& other) noexcept;
  PendingStageTimes& operator=(PendingStageTimes&& other) noexcept;
  PendingStageTimes(const PendingStageTimes&) = delete;
  PendingStageTimes& operator=(const PendingStageTimes&) = delete;
  ~PendingStageTimes();

  /// Whether `take` would return without waiting; always on a CPU.
  bool ready() const;
  /// The times; waits for the device when they are not there yet. Once.
  StageTimes take();

  /// Gives `time_us` of one stage to another: what a stage stood still for others. On a CPU; the device's
  /// clock measures its stages itself.
  void move(Stage from, Stage to, std::int64_t time_us);

  /// What the timer was asked to keep: when the host was in which stage, in their order.
  const std::vector<StageInterval>& intervals() const { return intervals_; }
  /// When the device did the work of which stage, put on the host's clock; none on a CPU. Waits as `take`
  /// does, and comes before it.
  std::vector<StageInterval> device_intervals(const DeviceClock& clock) const;

 private:
  friend class StageTimer;
  /// A point on the stream, and what ended there: a stage, or kStageNames.size() for the rest.
  struct Mark {
    CUevent_st* event;
    std::size_t ended;
  };
  PendingStageTimes() = default;
  void give_back() noexcept;

  EventPool* events_ = nullptr;
  std::vector<Mark> marks_;
  std::vector<StageInterval> intervals_;
  StageTimes times_;
};

/// Times one step: on the host's steady clock, and on a CUDA device by events on the current stream.
class StageTimer {
 public:
  /// `events` of the device, which outlives this and what `finish` gives; null for a CPU, where the host does
  /// the work. `keeps_intervals` for a timeline: not only sums.
  explicit StageTimer(EventPool* events = nullptr, bool keeps_intervals = false);
  /// Ends the stage that is running, if any, and starts `stage`.
  void enter(Stage stage);
  /// Ends the running stage; time until the next `enter` belongs to no stage.
  void leave();
  /// Ends the step. Does not wait for the device. Nothing may be called after it.
  PendingStageTimes finish();

 private:
  void close();

  std::int64_t begin_us_;
  std::int64_t since_us_;  ///< when the running stage, or the rest, began
  std::size_t current_ = kStageNames.size();
  bool keeps_intervals_;
  PendingStageTimes pending_;
};

}  // namespace isobar
