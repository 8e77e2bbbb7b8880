#pragma once
// A run as its folder tells it: live, finished, or dead.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "record/run_summary.h"
#include "record/stream_reader.h"

namespace isobar {

enum class RunState {
  empty,  ///< no stream yet
  running,
  done,
  stopped,  ///< on request
  failed,   ///< an error ended it, and it could say so
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
};

struct RunView {
  RunState state = RunState::empty;
  std::string reason;  ///< of `stopped` and `failed`
  std::string lesson;
  std::string preset;
  std::string device;
  std::string host;
  std::string started;
  std::string fault;  ///< the mistake on purpose, "" without one
  std::int64_t last_epoch = 0;
  std::vector<RunScores> scores;
  RunSummary summary;  ///< from the steps read so far; as the run itself said it once that is there
  double age_s = 0;    ///< since the stream last grew
  std::int64_t unread_lines = 0;  ///< lines that are no events
};

/// Reads rank 0's stream; `update` takes in what was added. Unknown kinds and keys are ignored; an unknown
/// schema is an Error (exit code 2).
class RunReader {
 public:
  /// Error (exit code 2) when the folder holds no run.
  explicit RunReader(std::filesystem::path folder);

  /// True when something new was read.
  bool update();
  const RunView& view() const { return view_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void take(const std::string& line);
  void take_step(const nlohmann::ordered_json& line);
  void take_eval(const nlohmann::ordered_json& line);
  void find_state();

  std::filesystem::path folder_;
  StreamReader stream_;
  RunView view_;
  int restarts_ = 0;
  std::int64_t pid_ = 0;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t steady_steps_ = 0;
  std::int64_t steady_samples_ = 0;
  double steady_us_ = 0;
  std::vector<std::pair<std::string, double>> steady_stages_us_;
  bool ended_ = false;
};

/// `name` as a run folder: a path, a name below `runs`, or "last" for the newest there. Error (exit code 2)
/// with the nearest.
std::filesystem::path find_run(const std::string& name, const std::filesystem::path& runs);

/// Run folders below `runs`, oldest first by name of their start.
std::vector<std::filesystem::path> list_runs(const std::filesystem::path& runs);

/// One JSON object: state, reason, lesson, scores, summary.
std::string to_json(const RunReader& reader);

}  // namespace isobar
