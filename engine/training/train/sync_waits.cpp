#include "train/sync_waits.h"

#include <algorithm>
#include <map>
#include <utility>

namespace isobar {
namespace {

/// Time covered by at least one of the intervals.
std::int64_t covered_us(std::vector<CollectiveTimes> times) {
  std::sort(times.begin(), times.end(),
            [](const CollectiveTimes& a, const CollectiveTimes& b) { return a.begin_us < b.begin_us; });
  std::int64_t covered = 0;
  std::int64_t end = 0;
  for (const CollectiveTimes& one : times) {
    covered += std::max<std::int64_t>(0, one.end_us - std::max(one.begin_us, end));
    end = std::max(end, one.end_us);
  }
  return covered;
}

/// Rank `rank` of the group, as a rank of the world.
int world_rank(const Comm& comm, int rank) { return comm.members().at(static_cast<std::size_t>(rank)); }

}  // namespace

void add_waits(const std::vector<CollectiveTimes>& times, std::vector<StoodStill> stood,
               SyncFigures& figures) {
  if (stood.empty()) stood.push_back({times.back().ready_us, times.back().end_us});
  std::map<int, std::int64_t> waits_us;
  std::int64_t done_us = 0;
  for (const CollectiveTimes& one : times) {
    if (one.last_rank < 0) return;  // it is not known who came when
    for (const StoodStill& still : stood)
      waits_us[one.last_rank] +=
          std::max<std::int64_t>(0, std::min(still.end_us, one.begin_us) - std::max(still.begin_us, done_us));
    done_us = std::max(done_us, one.end_us);
  }
  figures.waited_for = times.back().last_rank;
  for (const auto& [rank, wait_us] : waits_us) {
    if (wait_us > waits_us[figures.waited_for]) figures.waited_for = rank;
    figures.waited_us += wait_us;
  }
}

SyncFigures sync_figures(const std::vector<CollectiveTimes>& times, std::vector<StoodStill> stood,
                         const Comm& comm, const CommCounts& before, const TensorParallelFigures& split) {
  const CommCounts after = comm.counts();
  std::vector<CollectiveTimes> all = times;
  all.insert(all.end(), split.times.begin(), split.times.end());
  SyncFigures out{.total_us = split.calls > 0 && split.times.empty() ? -1 : covered_us(std::move(all)),
                  .calls = after.calls - before.calls + split.calls,
                  .wire_bytes = after.wire_bytes - before.wire_bytes + split.wire_bytes,
                  .tp_calls = split.calls,
                  .tp_wire_bytes = split.wire_bytes,
                  .tp_forward_wait_us = split.forward_wait_us,
                  .tp_backward_wait_us = split.backward_wait_us};
  if (times.empty()) return out;
  // A device's collectives end when nobody looks.
  if (std::any_of(times.begin(), times.end(), [](const auto& one) { return one.end_us == 0; }))
    out.total_us = -1;
  else
    add_waits(times, std::move(stood), out);
  if (out.waited_for >= 0) out.waited_for = world_rank(comm, out.waited_for);
  return out;
}

SyncFigures context_figures(const ContextParallel& context) {
  const TensorParallelFigures sent = context.take_figures();
  return {.total_us = sent.calls > 0 && sent.times.empty() ? -1 : covered_us(sent.times),
          .calls = sent.calls,
          .wire_bytes = sent.wire_bytes,
          .cp_calls = sent.calls,
          .cp_wire_bytes = sent.wire_bytes,
          .cp_forward_wait_us = sent.forward_wait_us,
          .cp_backward_wait_us = sent.backward_wait_us};
}

}  // namespace isobar
