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
#include "core/json.h"
#include "log/run_files.h"
#include "log/run_view.h"
#include "log/table.h"

namespace isobar {

/// What a rank reports of its communication in a step, where it does.
struct StepComm {
  std::optional<double> comm_total_us;  ///< time in which something was under way
  std::optional<double> comm_calls;
  std::optional<double> wire_bytes;   ///< bytes that it sent
  std::optional<double> compress_us;  ///< arithmetic of compressed gradients
  std::optional<double> tp_calls;     ///< calls of layers that ranks share among them
  std::optional<double> tp_wire_bytes;
  std::optional<double> cp_calls;  ///< calls of ranks that share the tokens of a model
  std::optional<double> cp_wire_bytes;
  std::optional<double> ens_calls;  ///< calls of models that gather the forecasts of one ensemble
  std::optional<double> ens_wire_bytes;
  std::optional<double> read_calls;  ///< calls of ranks of a model that read fields together
  std::optional<double> read_wire_bytes;
  std::optional<double> node_calls;  ///< calls among the ranks of a node; the others are between nodes
  std::optional<double> node_wire_bytes;
  std::optional<double> pipe_us;       ///< from where the pipeline's step begins to a rank's last action
  std::optional<double> pipe_busy_us;  ///< in which it computes
  std::optional<double> pipe_calls;    ///< messages that it sent to neighbouring stages
  std::optional<double> pipe_bytes;    ///< in them
  std::optional<double> pipe_kept;     ///< most micro-batches that it kept, summed over its stages
};
/// With their names in the stream.
inline constexpr std::array<std::pair<std::string_view, std::optional<double> StepComm::*>, 19> kStepComm = {
    {{"comm_total_us", &StepComm::comm_total_us},
     {"comm_calls", &StepComm::comm_calls},
     {"wire_bytes", &StepComm::wire_bytes},
     {"compress_us", &StepComm::compress_us},
     {"tp_calls", &StepComm::tp_calls},
     {"tp_wire_bytes", &StepComm::tp_wire_bytes},
     {"cp_calls", &StepComm::cp_calls},
     {"cp_wire_bytes", &StepComm::cp_wire_bytes},
     {"ens_calls", &StepComm::ens_calls},
     {"ens_wire_bytes", &StepComm::ens_wire_bytes},
     {"read_calls", &StepComm::read_calls},
     {"read_wire_bytes", &StepComm::read_wire_bytes},
     {"node_calls", &StepComm::node_calls},
     {"node_wire_bytes", &StepComm::node_wire_bytes},
     {"pipe_us", &StepComm::pipe_us},
     {"pipe_busy_us", &StepComm::pipe_busy_us},
     {"pipe_calls", &StepComm::pipe_calls},
     {"pipe_bytes", &StepComm::pipe_bytes},
     {"pipe_kept", &StepComm::pipe_kept}}};

/// One rank. Figures are means over the compared steps, where its stream has them.
struct RankFigures : StepComm {
  int rank = 0;
  bool has_stream = false;
  bool followed = false;  ///< it gave up because another rank had, by its status slot
  RunState state = RunState::empty;
  std::string reason;      ///< why it stopped or failed
  std::string host;        ///< "" = not known
  std::string doing;       ///< where it is, or was when it died: "step 12, backward"; "" = not known
  std::int64_t steps = 0;  ///< done
  std::optional<double> samples_per_s;
  std::optional<double> step_us;
  std::optional<double> comm_us;     ///< exposed: the stage comm
  std::optional<double> peak_bytes;  ///< most memory that it reported
  std::optional<double> waits_us;    ///< a step, for the rank that came last
  std::optional<double> pipe_idle;   ///< share of the longest pipe_us of any rank: median
  std::optional<double> last_in;     ///< compared steps in which the others waited for it
  std::vector<std::pair<std::string, double>> stages_us;  ///< in the order of a step

  std::optional<double> stage_us(const std::string& stage) const;
  bool is_lost() const;  ///< it failed, died, or left no stream
};

/// The rank that the others wait for.
struct Straggler {
  int rank = 0;
  double kept_us = 0;          ///< time a step that it keeps the others waiting: median
  double of_step = 0;          ///< over the median step
  std::int64_t last_in = 0;    ///< compared steps in which it came last
  std::string stage;           ///< stage that takes longer there than elsewhere; "" = none stands out
  double stage_us = 0;         ///< mean there
  double others_stage_us = 0;  ///< median of the others' means
};

/// All ranks together: means a step and rank, where they are known.
struct CommFigures : StepComm {
  std::optional<double> exposed_us;
  std::optional<double> busbw_gb_per_s;  ///< bytes sent over the time in which something was under way
  std::optional<double> overlap;  ///< share of the time communicating in which the rank computed too (spans)
  std::optional<double> last_bucket;  ///< its share of the exposed time (from spans, as overlap)
  std::optional<double> pipe_idle;    ///< 1 - sum of pipe_busy_us / (ranks x longest pipe_us): median
  StepRange overlap_of =
      {};  ///< the steps it was measured in: others where none of the compared ones was traced
};

struct RanksView {
  std::int64_t world = 1;
  std::int64_t replicas = 1;       ///< models that these hold
  std::int64_t stages_a_rank = 1;  ///< where they form a pipeline: mesh.chunks
  std::vector<RankFigures> ranks;  ///< by rank, at most kMostRanks
  std::int64_t left_out = 0;       ///< ranks beyond
  std::int64_t steps = 0;          ///< compared steps, which all compared ranks have
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  bool steady = false;  ///< they lie behind the warm-up
  double step_us = 0;   ///< median of the compared steps, over all ranks
  CommFigures comm;
  std::optional<MeasuredLink> probe;
  std::optional<Straggler> straggler;

  /// The most micro-batches whose activations, of all of its blocks, the rank kept at a time.
  std::optional<double> kept_by(const RankFigures& rank) const;
  StepRange compared() const { return {first_step, last_step}; }
  int hosts() const;
  /// samples/s of the slowest rank times the number of ranks; 0 when no step is steady.
  double samples_per_s() const;
};

/// How much of the streams is read, over all ranks: the end of each.
inline constexpr std::uint64_t kMostRankBytes = 64 << 20;

/// A straggler is the rank whose gradients are ready last. On one machine the steps record it
/// (`waited_for`, `waited_us`); else it is the one with the least exposed communication, since it waits for
/// nobody, and the others wait for the difference between the most and the least. It is named when at least 5
/// steps can be compared, it came last in two thirds of them, and the median of what it kept the others
/// waiting is at least 5 % of the step and twice the median deviation of the steps' own times: less is noise.
/// Error (exit code 2) when a stream has an unknown schema.
RanksView read_ranks(const std::filesystem::path& folder, std::uint64_t most_bytes = kMostRankBytes);

/// A figure of a rank, in JSON and under a head.
struct RankColumn {
  const char* key;
  const char* head;
  Quantity quantity;
  std::optional<double> RankFigures::*figure;

  std::string text_of(const RankFigures& rank) const { return value_text(quantity, rank.*figure); }
};
inline constexpr std::array<RankColumn, 6> kRankColumns = {
    {{"samples_per_s", "samples/s", Quantity::rate, &RankFigures::samples_per_s},
     {"step_us", "step ms", Quantity::time, &RankFigures::step_us},
     {"comm_us", "comm ms", Quantity::time, &RankFigures::comm_us},
     {"waits_us", "waits ms", Quantity::time, &RankFigures::waits_us},
     {"last_in", "last in", Quantity::count, &RankFigures::last_in},
     {"peak_bytes", "memory", Quantity::bytes, &RankFigures::peak_bytes}}};

/// Which ranks a table of `most_rows` shows, by rank: all, or the lost ones and those that came last most
/// often.
std::vector<const RankFigures*> shown_ranks(const RanksView& view, std::size_t most_rows);

/// Sentences: "rank 1 keeps the others waiting 187 ms a step ...".
std::string straggler_sentence(const RanksView& view);
/// Sentences about ranks that failed, died, or left no stream, one each, at most `most`.
std::vector<std::string> lost_rank_sentences(const RanksView& view, std::size_t most = 4);
/// "exposed 12.3 ms (8 %) of 45.6 ms a step, overlap 73 %, ..."; "" when nothing is known.
std::string comm_sentence(const RanksView& view);

/// Table and sentences for a terminal; nothing for a run of one rank.
std::vector<std::string> rank_lines(const RanksView& view);
Json ranks_json(const RanksView& view);

}  // namespace isobar
