#pragma once
// Where the time of a step goes, on two clocks. The host's clock gives when the program asked for work, the
// device's when that work was done: on a CPU they are one.
#include <memory>
#include <vector>

#include "device/device_clock.h"
#include "device/event_pool.h"
#include "running/stage_clock.h"

namespace isobar {

/// On the device's clock a stage lasts from when the device has done all that was asked of it before the
/// stage until it has done all of the stage: while the host loads and the device has nothing to do, `load`
/// grows.
struct DeviceTimes : StageTimes {
  StageTimes host = {};
};

/// The times of a step whose end the device may not have reached yet.
class PendingStageTimes {
 public:
  /// Whether `take` would return without waiting; always on a CPU.
  bool ready() const;
  /// The times; waits for the device when they are not there yet. Once.
  DeviceTimes take();

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
  struct GiveBack {
    EventPool* events;
    void operator()(CUevent_st* event) const { events->give_back(event); }
  };
  /// A point on the stream, and what ended there: a stage, or StageClock::kRest.
  struct Mark {
    std::unique_ptr<CUevent_st, GiveBack> event;
    std::size_t ended;
  };
  /// Microseconds up to mark `i` from the one before.
  double length_us(std::size_t i) const;

  EventPool* events_ = nullptr;
  std::vector<Mark> marks_;
  std::vector<StageInterval> intervals_;
  DeviceTimes times_;
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
  void mark(std::size_t ended);

  StageClock host_;
  PendingStageTimes pending_;
};

}  // namespace isobar
