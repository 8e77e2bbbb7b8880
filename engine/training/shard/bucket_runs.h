#pragma once
// Which units of a model travel together where ranks share its states out.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace isobar {

/// Runs of neighbouring units, from the last one to the first, which is the order of backward; the units of a
/// run rise. A run is closed once it has `cap_bytes`; each unit is one by itself where `cap_bytes` is 0.
std::vector<std::vector<std::size_t>> bucket_runs(const std::vector<std::int64_t>& unit_bytes,
                                                  std::int64_t cap_bytes);

}  // namespace isobar
