#include "shard/bucket_runs.h"

namespace isobar {

std::vector<std::vector<std::size_t>> bucket_runs(const std::vector<std::int64_t>& unit_bytes,
                                                  std::int64_t cap_bytes) {
  std::vector<std::vector<std::size_t>> out;
  std::int64_t bytes = cap_bytes;  // the open run has; none is open
  for (std::size_t unit = unit_bytes.size(); unit-- > 0;) {
    if (bytes >= cap_bytes) {
      out.emplace_back();
      bytes = 0;
    }
    out.back().insert(out.back().begin(), unit);
    bytes += unit_bytes[unit];
  }
  return out;
}

}  // namespace isobar
