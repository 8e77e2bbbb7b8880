#pragma once
// The stream of one rank as a comparison of ranks needs it: who it is, and its newest steps.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/comm_times.h"
#include "analyse/run_view.h"
#include "core/stage.h"

namespace isobar {

/// Ranks whose streams are looked at; more are counted only.
inline constexpr int kMostRanks = 4096;

inline constexpr std::size_t kStages = kStageNames.size();

/// What a rank says of its communication in a step; -1 = it does not.
struct StepComm {
  double comm_total_us = -1;  ///< time in which something was under way
  double comm_calls = -1;
  double wire_bytes = -1;  ///< that it sent
  double tp_calls = -1;    ///< of these the ones of layers that ranks share
  double tp_wire_bytes = -1;
};
/// With their names in the stream.
inline constexpr std::array<std::pair<std::string_view, double StepComm::*>, 5> kStepComm = {
    {{"comm_total_us", &StepComm::comm_total_us},
     {"comm_calls", &StepComm::comm_calls},
     {"wire_bytes", &StepComm::wire_bytes},
     {"tp_calls", &StepComm::tp_calls},
     {"tp_wire_bytes", &StepComm::tp_wire_bytes}}};

/// -1 = the line does not say it.
struct RankStep : StepComm {
  std::int64_t step = 0;
  double samples = 0;
  double step_us = 0;
  double waited_for = -1;
  double waited_us = -1;
  std::array<double, kStages> stages_us{};

  double comm_us() const { return stages_us[4]; }
};

/// What the ranks measured between themselves at the start of the run.
struct MeasuredLink {
  std::string backend;
  double latency_us = 0;  ///< of an all-reduce of 64 bytes
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  double bytes = 0;  ///< of the message that these bandwidths are of
};

struct RankStream {
  RunView view;
  std::vector<RankStep> steps;  ///< of the newest attempt, each later than the one before
  double peak_bytes = -1;       ///< the largest that it tells; -1 = none
  std::optional<MeasuredLink> probe;
};

/// Its head and at most its last `most_bytes`. Error (exit code 2) for an unknown schema.
RankStream read_rank_stream(const std::filesystem::path& folder, int rank, std::uint64_t most_bytes);

/// Ranks below kMostRanks whose streams are in the folder, sorted.
std::vector<int> ranks_in(const std::filesystem::path& folder);

/// When the rank communicated, over those of the steps `wanted` that it traced, else over its steady traced
/// ones; nothing when it left no spans of communication.
std::optional<CommTimes> rank_comm_times(const std::filesystem::path& folder, int rank, StepRange wanted);

}  // namespace isobar
