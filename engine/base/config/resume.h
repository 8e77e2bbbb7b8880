#pragma once
// What a resumed run may do otherwise than it did before.
#include <filesystem>
#include <string>

#include "config/config.h"

namespace isobar {

/// `value` without the quotes around it, if there are any.
std::string unquoted(const std::string& value);

/// What `--set train.resume=...` names, "" without one; the last one counts.
std::string resume_setting(const Settings& settings);

/// The configuration that a run below `run` goes on with: its run.toml under `settings`. Refuses (Error, exit
/// code 2) what makes no sense beside it: a preset, another run folder's file that is missing.
Settings resumed_settings(const Settings& settings, const std::filesystem::path& run);

/// Keys that may differ from the run's first configuration, since they do not change what is computed: how it
/// is read, shown, saved, and on what it runs.
bool may_change_on_resume(const std::string& key, const Config& before);

/// Error (exit code 2) for the first key that differs and may not; `origins` says where it was set.
void check_resumable(const Config& before, const LoadedConfig& now);

}  // namespace isobar
