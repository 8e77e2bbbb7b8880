#include "run/step_probes.h"

#include <utility>

#include "device/load_cuda.h"
#include "device/stream.h"

namespace isobar {

StepProbes::StepProbes(c10::Device device, std::int64_t profile_epoch, bool traces)
    : device_(device),
      plugin_(has_streams(device) ? &cuda_plugin() : nullptr),
      events_(has_streams(device) ? std::make_unique<EventPool>(device) : nullptr),
      device_clock_(events_ && traces ? std::make_unique<DeviceClock>(*events_) : nullptr),
      profiler_(plugin_, profile_epoch),
      memory_(device) {}

void StepProbes::begin(std::int64_t step, std::int64_t steps_per_epoch, bool watches_operators,
                       bool records_memory) {
  ranges_.emplace(plugin_, step);
  if (watches_operators) operators_ = std::make_shared<OperatorWatch>(device_);
  profiler_.begin_step(step, steps_per_epoch);
  if (records_memory) memory_.begin();
}

void StepProbes::entered(Stage stage) {
  if (operators_) operators_->enter(name_of(stage));
  ranges_->enter(stage);
  memory_.enter(name_of(stage));
}

std::shared_ptr<OperatorWatch> StepProbes::ended() {
  if (operators_) operators_->stop();
  ranges_->finish();
  return std::exchange(operators_, nullptr);
}

void StepProbes::done(std::int64_t step, std::int64_t steps_per_epoch) {
  profiler_.end_step(step, steps_per_epoch);
}

void StepProbes::end_memory(const std::vector<StageInterval>& stages) {
  memory_.enter("");
  if (memory_.records()) memory_.end(stages);
}

std::vector<StageInterval> StepProbes::device_intervals(const PendingStageTimes& times) const {
  return device_clock_ ? times.device_intervals(*device_clock_) : std::vector<StageInterval>();
}

}  // namespace isobar
