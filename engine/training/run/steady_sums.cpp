#include "run/steady_sums.h"

#include <algorithm>

#include "core/clock.h"

namespace isobar {

void SteadySums::add(std::int64_t samples, const StageTimes& times, const LoaderCounts& loader,
                     const SyncFigures& sync) {
  if (steps_++ == 0) processor_ = thread_processor_time();
  samples_ += samples;
  times_.step_us += times.step_us;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    times_.stage_us[stage] += times.stage_us[stage];
    times_.entered[stage] = times_.entered[stage] || times.entered[stage];
  }
  loader_.stall_us += loader.stall_us;
  loader_.read_bytes += loader.read_bytes;
  loader_.cpu_us += loader.cpu_us;
  loader_.ready += loader.ready;
  loader_.slots = loader.slots;
  add(sync);
}

void SteadySums::add(const SyncFigures& sync) {
  if (sync.calls == 0) return;
  sync_.total_us = sync.total_us < 0 ? -1 : sync_.total_us + sync.total_us;
  sync_.calls += sync.calls;
  sync_.wire_bytes += sync.wire_bytes;
  sync_.waited_us += sync.waited_us;
  sync_.tp_calls += sync.tp_calls;
  sync_.tp_wire_bytes += sync.tp_wire_bytes;
  if (sync.waited_for < 0) return;
  const auto rank = static_cast<std::size_t>(sync.waited_for);
  if (waited_for_.size() <= rank) waited_for_.resize(rank + 1);
  ++waited_for_[rank];
}

void SteadySums::put_into(RunSummary& out) const {
  if (steps_ == 0) return;
  const auto steps = static_cast<double>(steps_);
  const auto mean = [&](std::int64_t sum) { return static_cast<double>(sum) / steps; };
  out.step_us = mean(times_.step_us);
  out.samples_per_s = static_cast<double>(samples_) / (out.step_us * steps) * 1e6;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (times_.entered[stage]) out.stages_us.emplace_back(kStageNames[stage], mean(times_.stage_us[stage]));
  }
  out.stall_us = mean(loader_.stall_us);
  out.ready_slots = mean(loader_.ready);
  out.slots = loader_.slots;
  out.read_bytes = loader_.read_bytes;
  out.read_cpu_us = loader_.cpu_us;
  out.processor_wait = thread_processor_time().waited_since(processor_);
  out.comm_total_us = sync_.total_us < 0 ? -1 : mean(sync_.total_us);
  out.comm_calls = mean(sync_.calls);
  out.wire_bytes = mean(sync_.wire_bytes);
  out.tp_calls = mean(sync_.tp_calls);
  out.tp_wire_bytes = mean(sync_.tp_wire_bytes);
  out.waited_us = mean(sync_.waited_us);
  const auto most = std::max_element(waited_for_.begin(), waited_for_.end());
  if (most != waited_for_.end()) out.waited_for = static_cast<int>(most - waited_for_.begin());
}

}  // namespace isobar
