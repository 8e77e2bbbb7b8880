#pragma once
// The ranks of one run side by side: how fast each is, what it waits for, which one the others wait for, and
// what communication costs. Made from the streams and status slots of the run folder.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/comm_times.h"
#include "analyse/run_files.h"
#include "analyse/run_view.h"
#include "core/json.h"

namespace isobar {

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

/// One rank. Figures are means over the compared steps; -1 = its stream does not say it.
struct RankFigures : StepComm {
  int rank = 0;
  bool has_stream = false;
  bool followed = false;  ///< it gave up because another rank had, by its status slot
  RunState state = RunState::empty;
  std::string reason;      ///< of one that stopped or failed
  std::string host;        ///< "" = not known
  std::string doing;       ///< where it is, or was when it died: "step 12, backward"; "" = not known
  std::int64_t steps = 0;  ///< done
  double samples_per_s = -1;
  double step_us = -1;
  double comm_us = -1;       ///< exposed: the stage comm
  double peak_bytes = -1;    ///< most memory that it said it held
  double waits_us = -1;      ///< a step, for the rank that came last
  std::int64_t last_in = 0;  ///< compared steps in which the others waited for it
  std::vector<std::pair<std::string, double>> stages_us;  ///< in the order of a step

  double stage_us(const std::string& stage) const;  ///< -1 without it
  bool is_lost() const;                             ///< it failed, died, or left no stream
};

/// The rank that the others wait for.
struct Straggler {
  int rank = 0;
  double kept_us = 0;          ///< time a step that it keeps the others waiting: median
  double of_step = 0;          ///< over the median step
  std::int64_t last_in = 0;    ///< of the compared steps
  std::string stage;           ///< that takes longer there than elsewhere; "" = none stands out
  double stage_us = 0;         ///< mean there
  double others_stage_us = 0;  ///< median of the others' means
};

/// Of all ranks: means a step and rank. -1 = not known.
struct CommFigures : StepComm {
  double exposed_us = -1;
  double busbw_gb_per_s = -1;  ///< bytes sent over the time in which something was under way
  double overlap = -1;      ///< share of the time communicating in which the rank computed too (from spans)
  double last_bucket = -1;  ///< its share of the exposed time (from spans, as overlap)
  StepRange overlap_of =
      {};  ///< the steps that says it of: others where none of the compared ones was traced
};

struct RanksView {
  std::int64_t world = 1;
  std::int64_t replicas = 1;       ///< models that these hold
  std::vector<RankFigures> ranks;  ///< by rank, at most kMostRanks
  std::int64_t left_out = 0;       ///< ranks beyond
  std::int64_t steps = 0;          ///< that all compared ranks have, and that were compared
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  bool steady = false;  ///< they lie behind the warm-up
  double step_us = 0;   ///< median of the compared steps, over all ranks
  CommFigures comm;
  std::optional<MeasuredLink> probe;
  std::optional<Straggler> straggler;

  StepRange compared() const { return {first_step, last_step}; }
  int hosts() const;
  /// samples/s of the slowest rank times the number of ranks; 0 when no step is steady.
  double samples_per_s() const;
};

/// How much of the streams is read, over all ranks: the end of each.
inline constexpr std::uint64_t kMostRankBytes = 64 << 20;

/// A straggler is the rank whose gradients are ready last. On one machine the steps say it (`waited_for`,
/// `waited_us`); else it is the one with the least exposed communication, since it waits for nobody, and the
/// others wait for the difference between the most and the least. It is named when at least 5 steps can be
/// compared, it came last in two thirds of them, and the median of what it kept the others waiting is at
/// least 5 % of the step and twice the median deviation of the steps' own times: less is noise. Error (exit
/// code 2) when a stream has an unknown schema.
RanksView read_ranks(const std::filesystem::path& folder, std::uint64_t most_bytes = kMostRankBytes);

/// Figures of a rank, and what stands above them; "-" of what is not known.
inline constexpr std::array<const char*, 6> kRankHeads = {"samples/s", "step ms", "comm ms",
                                                          "waits ms",  "last in", "memory"};
std::array<std::string, kRankHeads.size()> rank_cells(const RankFigures& rank, const RanksView& view);

/// Which ranks a table of `most_rows` shows, by rank: all, or the lost ones and those that came last most
/// often.
std::vector<const RankFigures*> shown_ranks(const RanksView& view, std::size_t most_rows);

/// Sentences: "rank 1 keeps the others waiting 187 ms a step ...".
std::string straggler_sentence(const RanksView& view);
/// Of ranks that failed, died, or left no stream; one sentence each, at most `most`.
std::vector<std::string> lost_rank_sentences(const RanksView& view, std::size_t most = 4);
/// "exposed 12.3 ms (8 %) of 45.6 ms a step, overlap 73 %, ..."; "" when nothing is known.
std::string comm_sentence(const RanksView& view);

/// Table and sentences for a terminal; nothing for a run of one rank.
std::vector<std::string> rank_lines(const RanksView& view);
Json ranks_json(const RanksView& view);

}  // namespace isobar
