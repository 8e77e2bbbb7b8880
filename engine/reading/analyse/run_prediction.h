#pragma once
// Runs of this machine beside what its kept rates predict for them.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"
#include "formula/stage_prediction.h"
#include "log/run_files.h"
#include "record/run_summary.h"

namespace isobar {

/// The settings of a run and the lesson that they are of; nothing where one of them is not of this tree.
struct KnownSettings {
  LessonInfo lesson;
  Config config;
};
std::optional<KnownSettings> settings_of(const std::filesystem::path& run, const std::string& lesson);

/// Rates that are kept, where the run was made on the processors of this machine.
std::optional<MachineRates> rates_behind(const ConfigText& run);

/// Bytes a second that its processors move to and from memory, with the threads that the run had; 0 where it
/// was made elsewhere or on a GPU.
double memory_rate(const ConfigText& run, const MachineRates& rates);

/// The stages that these rates give for a run; nothing where they give none (split layers).
std::optional<StepStages> predicted_stages(const KnownSettings& settings, const MachineRates& rates);

/// For a run folder; nullopt also where the run is of another machine or not of this tree.
std::optional<StepStages> predicted_for(const std::filesystem::path& run, const std::string& lesson);

/// A run that measured what a prediction is of.
struct RunLike {
  std::filesystem::path folder;
  RunSummary summary;
};

/// Whether a run decides a setting of this value by itself, and writes what it decided in its place.
bool is_left_open(std::string_view key, std::string_view value);

/// Whether a run was made on the processors of this machine.
bool is_of_this_machine(const ConfigText& run);

/// Settings that a run has otherwise, but for its labels, how many steps it took and what is left open.
std::vector<std::string> differing_settings(const ConfigText& run, const Config& config);

/// The newest finished run of `parent` that was made on this machine with these settings; how many steps it
/// took, and as which repeat, does not matter.
std::optional<RunLike> newest_run_like(const std::string& lesson, const Config& config,
                                       const std::filesystem::path& parent);

}  // namespace isobar
