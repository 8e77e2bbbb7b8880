#include "formula/bucket_plan.h"

#include <algorithm>

namespace isobar {

std::vector<PlannedBucket> bucket_plan(const std::vector<std::int64_t>& sizes_bytes,
                                       std::int64_t first_cap_bytes, std::int64_t cap_bytes) {
  std::vector<PlannedBucket> out;
  PlannedBucket open;
  for (const std::int64_t bytes : sizes_bytes) {
    ++open.count;
    open.bytes += bytes;
    if (open.bytes < (out.empty() ? std::min(first_cap_bytes, cap_bytes) : cap_bytes)) continue;
    out.push_back(open);
    open = {.first = open.first + open.count};
  }
  if (open.count > 0) out.push_back(open);
  return out;
}

}  // namespace isobar
