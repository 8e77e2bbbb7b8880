#include "run/training_sums.h"

#include <algorithm>

namespace isobar {

void TrainingSums::add(std::int64_t samples, const StageTimes& times, const LoaderCounts& loader,
                       const SyncFigures& sync) {
  if (empty()) processor_ = thread_processor_time();
  loader_.read_bytes += loader.read_bytes;
  loader_.cpu_us += loader.cpu_us;
  loader_.slots = loader.slots;
  const SyncFigures added = sync.calls == 0 ? SyncFigures{} : sync;
  means_.add(samples, times,
             {{&RunSummary::stall_us, loader.stall_us},
              {&RunSummary::ready_slots, loader.ready},
              {&RunSummary::comm_total_us, added.total_us},
              {&RunSummary::comm_calls, added.calls},
              {&RunSummary::wire_bytes, added.wire_bytes},
              {&RunSummary::tp_calls, added.tp_calls},
              {&RunSummary::tp_wire_bytes, added.tp_wire_bytes},
              {&RunSummary::cp_calls, added.cp_calls},
              {&RunSummary::cp_wire_bytes, added.cp_wire_bytes},
              {&RunSummary::waited_us, added.waited_us}});
  total_known_ = total_known_ && added.total_us >= 0;
  if (added.waited_for < 0) return;
  const auto rank = static_cast<std::size_t>(added.waited_for);
  if (waited_for_.size() <= rank) waited_for_.resize(rank + 1);
  ++waited_for_[rank];
}

void TrainingSums::put_into(RunSummary& out) const {
  if (empty()) return;
  means_.put_into(out);
  out.slots = loader_.slots;
  out.read_bytes = loader_.read_bytes;
  out.read_cpu_us = loader_.cpu_us;
  out.processor_wait = thread_processor_time().waited_since(processor_);
  if (!total_known_) out.comm_total_us = -1;
  const auto most = std::max_element(waited_for_.begin(), waited_for_.end());
  if (most != waited_for_.end()) out.waited_for = static_cast<int>(most - waited_for_.begin());
}

}  // namespace isobar
