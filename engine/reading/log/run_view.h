#pragma once
// The facts of a run from its stream and run.toml.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/left_out.h"
#include "record/run_summary.h"

namespace isobar {

enum class RunState {
  empty,  ///< no stream yet
  running,
  done,
  stopped,  ///< on request
  failed,   ///< an error ended it, and its stream has the reason
  died      ///< no `end`, and its process is gone
};

const char* state_name(RunState state);

struct RunScores {
  std::int64_t step = 0;
  double loss = 0;
  std::string headline;
  double rmse = 0;
  double persistence_rmse = 0;
  double climatology_rmse = 0;  ///< 0 where there is none
  double acc = 0;
  std::int64_t members = 1;                  ///< the mean of so many is scored
  double crps = 0, spread = 0;               ///< 0 where there is one
  std::optional<double> wall_s = {};         ///< from the beginning of the run to this score
  std::optional<std::int64_t> samples = {};  ///< trained on by all ranks by then

  /// Else the data set has none, and `acc`, which is against it, means nothing.
  bool has_climatology() const { return climatology_rmse > 0; }
};

/// What the ranks measured between themselves at the start of the run.
struct MeasuredLink {
  std::string backend;
  double latency_us = 0;  ///< time of an all-reduce of 64 bytes
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  double bytes = 0;  ///< size of the message that these bandwidths are of
};

struct RunView {
  RunState state = RunState::empty;
  std::string reason;  ///< reason of `stopped` and `failed`
  std::string lesson;
  std::string preset;
  std::string device;
  std::string host;
  std::string started;
  std::string yours;        ///< the learner's file that takes the place of a part of ours; "" = none
  std::string fault;        ///< the mistake on purpose, "" without one
  std::string data_source;  ///< "memory" or "synthetic" where it is not files
  std::int64_t throttle_mb_per_s = 0;  ///< limit of a file system that was made slow; 0 = none
  std::string group;                   ///< group of runs that it belongs to, such as a sweep's; "" = none
  std::string point;                   ///< its place in the group
  std::int64_t repeat = 0;             ///< which repeat of that point
  std::string provenance;              ///< "" = measured; "recorded", "predicted"
  std::string source;     ///< program of an imported run: "tutorial", "lightning"; "" = Isobar made it
  std::string replay_of;  ///< the run that this one plays again (log/replay.h); "" = it is none
  double replay_speed = 0;
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;  ///< process that started it
  std::int64_t attempt = 0;     ///< how often it was resumed
  std::int64_t from_step = 0;   ///< where the newest attempt began
  std::int64_t last_epoch = 0;
  std::int64_t steps_per_epoch = 0;  ///< 0 = not known
  std::vector<RunScores> scores;
  std::optional<MeasuredLink> probe;
  std::vector<std::string> channels;  ///< scored channels, in the order of the data set
  std::vector<std::pair<std::string, std::uint64_t>> memory;  ///< predicted bytes of a rank by category
  RunSummary summary;                ///< from the steps read so far; the run's own once its stream has it
  double age_s = 0;                  ///< since the stream last grew
  double clock_ahead_s = 0;          ///< the writer's clock ahead of the one here, 0 = they agree
  std::int64_t unread_lines = 0;     ///< lines that are no events
  LeftOut left_out;                  ///< what readers of an imported log or of event files left out
  std::vector<std::string> remarks;  ///< for an imported log: what it lacks, and what was guessed

  /// The first step behind the warm-up of the newest attempt: from it on steps are steady, and figures of
  /// speed are theirs.
  std::int64_t steady_from() const { return from_step + summary.warm_up_steps; }

  /// Neither recorded elsewhere, nor predicted, nor played again.
  bool is_measured_here() const { return provenance.empty() && replay_of.empty(); }
};

/// "measures io" for a run that only measures, with its place in its group; "" for one that trains.
std::string measure_text(const RunView& view);

/// "the Python tutorial", "Lightning"; "" for a run of ours.
std::string source_text(const RunView& view);

/// "recorded on NVIDIA H200, 2026-11-21", "recorded with Lightning, 2026-01-05", "predicted by model for
/// H200"; "" for a run that was measured here.
std::string provenance_text(const RunView& view);

/// What sets it apart from a plain run, a few words each: a mistake on purpose, a slow disk, made-up data,
/// that it only measures.
std::vector<std::string> marks_of(const RunView& view);

}  // namespace isobar
