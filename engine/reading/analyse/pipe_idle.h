#pragma once
// How long the ranks of a pipeline were idle, from pipe_us and pipe_busy_us of their steps.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "log/run_reader.h"

namespace isobar {

/// mesh.chunks of a run; 1 where it is not known.
std::int64_t stages_a_rank_in(const std::filesystem::path& run);

/// Shares of the longest pipe_us of any rank, medians over the steps; nothing where no step has a pipeline,
/// or none for which it is known how long a rank computed.
struct PipeIdle {
  std::optional<double> all;
  std::vector<std::optional<double>> ranks;
};
PipeIdle pipe_idle(const std::vector<RunLog>& logs, std::int64_t first_step, std::int64_t last_step);

}  // namespace isobar
