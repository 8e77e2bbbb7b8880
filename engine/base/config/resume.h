#pragma once
// What a resumed run may do otherwise than it did before.
#include <filesystem>
#include <string>

#include "config/load.h"

namespace isobar {

/// The note for users of the key.
inline constexpr const char* kResumeKeyNote = "train.resume is now called --resume";

/// `--set train.resume=RUN`, as --resume was called before, becomes settings.resume; the last one counts.
/// True where there was one. Error (exit code 2) beside --resume.
bool take_resume_key(Settings& settings);

/// The configuration with which `run` continues: its run.toml under `settings`. Refuses (Error, exit
/// code 2) what makes no sense beside it: a preset, another run folder's file that is missing.
Settings resumed_settings(const Settings& settings, const std::filesystem::path& run);

/// Keys that may differ from the run's first configuration, since they do not change what is computed: how it
/// is read, shown, saved, and on what it runs.
bool may_change_on_resume(const std::string& key, const Config& before);

/// Error (exit code 2) for the first key that differs and may not; `origins` names where it was set.
void check_resumable(const Config& before, const LoadedConfig& now);

}  // namespace isobar
