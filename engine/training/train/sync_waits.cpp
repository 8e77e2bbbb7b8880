#include "train/sync_waits.h"

#include <algorithm>
#include <map>

namespace isobar {

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

}  // namespace isobar
