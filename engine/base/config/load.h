#pragma once
// A configuration from its sources: the lesson, a preset, files, the command line.
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"

namespace isobar {

/// Settings of the command line.
struct Settings {
  std::string preset = "";  ///< "" = the lesson picks the one that fits the device
  std::vector<std::filesystem::path> config_files = {};  ///< in the order given
  std::vector<std::string> sets = {};                    ///< "key=value", in the order given
  std::string resume = "";                               ///< the run to continue, "" = a new one
};

struct LoadedConfig {
  Config config;
  std::string preset;
  bool preset_was_chosen = false;  ///< by the lesson, not by the user
  std::map<std::string, std::string>
      origins;  ///< key -> "file:line" or "--set", for keys set beyond base.toml
};

/// lessons/base.toml < lesson.toml [overrides] < preset < --config files < --set, then `validate`.
/// `device_kind` ("cpu", "cuda") picks the preset when none is named. Everything wrong is an Error (exit code
/// 2) with file:line:column or "--set": unknown key (nearest known one), wrong type, out of range, not one of
/// the choices, a key that the lesson does not honour.
LoadedConfig load_config(const std::filesystem::path& home, const LessonInfo& lesson,
                         const Settings& settings, const std::string& device_kind);

/// `load_config` without the checks that concern several keys: for callers that set some keys later.
LoadedConfig read_config(const std::filesystem::path& home, const LessonInfo& lesson,
                         const Settings& settings, const std::string& device_kind);

/// The `device_kind` for these settings: the device they name ("cuda" for cuda:1), else what `automatic`
/// returns. It is called only when a preset is to be picked.
std::string preset_device_kind(const Settings& settings, const std::function<std::string()>& automatic);

/// Preset names below `home`, sorted.
std::vector<std::string> preset_names(const std::filesystem::path& home);

}  // namespace isobar
