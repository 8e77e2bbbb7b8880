#pragma once
// What the ranks' network gives, measured before training.
#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "comm/comm.h"
#include "formula/memory_plan.h"

namespace isobar {

struct LinkProbe {
  double latency_us = 0;      ///< median of all-reduces of 64 bytes
  std::int64_t bytes = 0;     ///< size of the largest message that there was time for
  double algbw_gb_per_s = 0;  ///< bytes / time of one all-reduce of them
  double busbw_gb_per_s = 0;  ///< algbw times 2 (n - 1) / n: what each link carries, comparable over n
};

/// At most about 0.3 s, on a slow link too, with messages of up to `most_bytes`. Not counted, and without
/// spans. All ranks get the same figures: times are those of the slowest rank. `comm` has at least two ranks.
LinkProbe probe_link(Comm& comm, c10::Device device, std::int64_t most_bytes = kMostProbeBytes);

/// "ring of 2 ranks: latency 21 us, 1.9 GB/s (algbw) 1.9 GB/s (busbw) at 4.2 MB"
std::string probe_text(const LinkProbe& probe, const Comm& comm);

}  // namespace isobar
