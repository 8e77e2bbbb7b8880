// The part of Run that says when the loop did what, for a timeline.
#include "core/clock.h"
#include "run/run.h"

namespace isobar {

void Run::trace_host(std::int64_t step, const PendingStageTimes& times) {
  for (const auto& [stage, begin_us, end_us] : times.intervals()) {
    spans_->add({.track = "loop",
                 .name = kStageNames[static_cast<std::size_t>(stage)],
                 .step = step,
                 .begin_us = begin_us,
                 .end_us = end_us});
  }
}

void Run::trace_device(std::int64_t step, const PendingStageTimes& times) {
  if (!device_clock_ || !spans_->wants(step)) return;
  for (const auto& [stage, begin_us, end_us] : times.device_intervals(*device_clock_)) {
    spans_->add({.track = "device",
                 .name = kStageNames[static_cast<std::size_t>(stage)],
                 .step = step,
                 .begin_us = begin_us,
                 .end_us = end_us});
  }
}

void Run::trace_loop(std::string_view name, std::int64_t begin_us) {
  spans_->add(
      {.track = "loop", .name = name, .step = steps_done_, .begin_us = begin_us, .end_us = steady_us()});
}

}  // namespace isobar
