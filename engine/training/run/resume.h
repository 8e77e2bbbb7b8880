#pragma once
// Which run is resumed, from which checkpoint: found, verified and understood before anything is written.
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "fields/checkpoint_folder.h"
#include "run/run_state.h"

namespace isobar {

inline constexpr const char* kStateFile = "state.toml";
/// The configuration that made the checkpoint, as in run.toml.
inline constexpr const char* kCheckpointConfig = "config.toml";

struct Resume {
  std::filesystem::path folder;  ///< run folder; "" when a new run was asked for
  Settings settings;             ///< what load_config gets
  std::optional<Checkpoint> checkpoint;
  CheckpointState state;
  std::vector<std::string> passed_over;  ///< newer checkpoints that are not good, a sentence each
  bool by_key = false;                   ///< asked for by the key train.resume

  bool wanted() const { return !folder.empty(); }
};

/// Error (exit code 2) when --resume names a run of another lesson, or one without a good
/// checkpoint.
Resume find_resume(const RunArguments& arguments, const std::string& lesson);

/// The configuration of the run, with what a resumed one takes from its checkpoint instead (first weights).
LoadedConfig resumed_config(const LessonInfo& lesson, const Resume& resume, const std::string& device_kind);

}  // namespace isobar
