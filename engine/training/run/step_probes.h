#pragma once
// Who looks into a step beside its timer: a profiler of NVIDIA, and in one step each the watch over operators
// and the recorder of memory.
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/device_clock.h"
#include "device/event_pool.h"
#include "device/memory_recorder.h"
#include "device/operator_watch.h"
#include "device/ranges.h"
#include "device/stage_timer.h"

namespace isobar {

class StepProbes {
 public:
  /// `profile_epoch`: run.profile_epoch. `traces`: whether the device is to be put on the host's clock.
  StepProbes(c10::Device device, std::int64_t profile_epoch, bool traces);

  StageTimer timer(bool keeps_intervals) { return StageTimer(events_.get(), keeps_intervals); }
  void begin(std::int64_t step, std::int64_t steps_per_epoch, bool watches_operators, bool records_memory);
  void entered(Stage stage);
  /// The stages have ended: the watch of this step, null when there was none.
  std::shared_ptr<OperatorWatch> ended();
  void done(std::int64_t step, std::int64_t steps_per_epoch);
  /// Ends the record of memory, in the step that has one: of these stages.
  void end_memory(const std::vector<StageInterval>& stages);
  const std::optional<MemoryTimeline>& memory() const { return memory_.timeline(); }

  /// When the device did what of a step, on the host's clock; nothing unless it traces.
  std::vector<StageInterval> device_intervals(const PendingStageTimes& times) const;

 private:
  c10::Device device_;
  const CudaPlugin* plugin_;           ///< marks steps and stages by name for profilers; null on a CPU
  std::unique_ptr<EventPool> events_;  ///< null on a CPU
  std::unique_ptr<DeviceClock> device_clock_;  ///< set on a CUDA device whose spans are wanted
  EpochProfiler profiler_;
  std::optional<StepRanges> ranges_;
  std::shared_ptr<OperatorWatch> operators_;
  MemoryRecorder memory_;
};

}  // namespace isobar
