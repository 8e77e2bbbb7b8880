#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "config/assign.h"
#include "config/check_groups.h"
#include "config/check_stages.h"
#include "config/keys.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

class Layers {
 public:
  Layers(const fs::path& home, const LessonInfo& lesson, LoadedConfig& loaded)
      : home_(home), lesson_(lesson), loaded_(loaded), keys_(keys_of(loaded.config)) {}

  const std::vector<Key>& keys() const { return keys_; }

  /// base.toml: the defaults, which belong to every lesson.
  void apply_base(const std::vector<TomlEntry>& entries) {
    for (const TomlEntry& entry : entries) assign(find_key(keys_, entry), entry);
    base_ = loaded_.config;
  }

  /// A layer above it: the lesson must honour what is set away from the default.
  void apply(const std::vector<TomlEntry>& entries) {
    for (const TomlEntry& entry : entries) {
      const Key& key = find_key(keys_, entry);
      assign(key, entry);
      check_honoured(key, entry);
      loaded_.origins[key.name] = entry.origin;
    }
  }

 private:
  void check_honoured(const Key& key, const TomlEntry& entry) {
    if (honours(lesson_, key.name)) return;
    for (const Key& base : keys_of(base_)) {
      if (base.name == key.name && same_value(base.place, key.place)) return;
    }
    throw Error(fmt::format("lesson {} does not honour {}", lesson_.name, key.name), entry.origin,
                bringer(key.name));
  }

  std::string bringer(const std::string& key) const {
    std::string found;  // a rung of the ladder before one that stands alone, which has keys of its own use
    for (const std::string& name : lesson_names(home_)) {
      const LessonInfo other = read_lesson(home_, name);
      const bool brings =
          std::find(other.introduces.begin(), other.introduces.end(), key) != other.introduces.end();
      if (!brings || (other.stands_alone && !found.empty())) continue;
      found = name;
      if (!other.stands_alone) break;
    }
    return found.empty() ? "no lesson here brings it"
                         : "lesson " + found + " brings it: ./isobar run " + found;
  }

  const fs::path& home_;
  const LessonInfo& lesson_;
  LoadedConfig& loaded_;
  std::vector<Key> keys_;
  Config base_;
};

/// The entries of run.toml's [environment] describe where a run was made and are not settings.
std::vector<TomlEntry> without_environment(std::vector<TomlEntry> entries) {
  std::erase_if(entries, [](const TomlEntry& entry) { return entry.key.rfind("environment.", 0) == 0; });
  return entries;
}

/// A lesson's page has some values of a key only, as its sheet says: its loader is built in sight, and a
/// mistake on purpose must have a place where it is made.
template <Choice Enum>
void check_choice(const LessonInfo& lesson, const LoadedConfig& loaded, const fs::path& home,
                  const std::string& key, Enum value, std::vector<Enum> LessonInfo::*choices) {
  const auto has = [&](const LessonInfo& other) {
    const std::vector<Enum>& all = other.*choices;
    return std::find(all.begin(), all.end(), value) != all.end();
  };
  if ((lesson.*choices).empty() || has(lesson)) return;
  std::vector<std::string> names;
  for (const Enum here : lesson.*choices) names.emplace_back(name_of(here));
  std::string hint = "here: " + joined(names);
  for (const std::string& name : lesson_names(home)) {
    if (has(read_lesson(home, name))) hint += "; lesson " + name + " has it";
  }
  const auto origin = loaded.origins.find(key);
  throw Error(fmt::format("lesson {} does not have {} = {}", lesson.name, key, name_of(value)),
              origin == loaded.origins.end() ? "lessons/base.toml" : origin->second, hint);
}

void check_choices(const LessonInfo& lesson, const LoadedConfig& loaded, const fs::path& home) {
  const Config& config = loaded.config;
  check_choice(lesson, loaded, home, "loader.kind", config.loader.kind, &LessonInfo::loaders);
  if (config.amp.mode != AmpMode::automatic) {
    const AmpMode mode = config.amp.mode == AmpMode::mixed ? AmpMode::bf16 : config.amp.mode;
    check_choice(lesson, loaded, home, "amp.mode", mode, &LessonInfo::precisions);
  }
  if (config.run.fault != Fault::none)
    check_choice(lesson, loaded, home, "run.fault", config.run.fault, &LessonInfo::faults);
}

std::vector<TomlEntry> overrides_of(const LessonInfo& lesson) {
  std::vector<TomlEntry> out;
  if (lesson.file.empty()) return out;
  for (TomlEntry& entry : read_toml(lesson.file)) {
    if (entry.key.rfind("overrides.", 0) != 0) continue;
    entry.key.erase(0, 10);
    out.push_back(entry);
  }
  return out;
}

fs::path preset_file(const fs::path& home, const std::string& name) {
  const std::vector<std::string> names = preset_names(home);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = nearest_name(name, names);
    throw Error("there is no preset \"" + printable(name, 80) + "\"", "--preset",
                (nearest.empty() ? "" : "did you mean " + nearest + "? ") + "Presets: " + joined(names));
  }
  return home / "lessons" / "presets" / (name + ".toml");
}

}  // namespace

std::vector<std::string> preset_names(const fs::path& home) {
  std::vector<std::string> names;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(home / "lessons" / "presets", code)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  if (code)
    throw system_error("cannot list the presets", (home / "lessons" / "presets").string(), code.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::string preset_device_kind(const Settings& settings, const std::function<std::string()>& automatic) {
  if (!settings.preset.empty() || !settings.config_files.empty()) return "cpu";  // no preset is picked
  std::string device = "auto";
  for (const std::string& set : settings.sets) {
    const std::size_t sign = set.find('=');
    if (sign != std::string::npos && set.substr(0, sign) == "run.device") device = set.substr(sign + 1);
  }
  if (device == "auto") return automatic();
  return device.rfind("cuda", 0) == 0 ? "cuda" : "cpu";
}

LoadedConfig read_config(const fs::path& home, const LessonInfo& lesson, const Settings& settings,
                         const std::string& device_kind) {
  LoadedConfig loaded;
  loaded.preset = settings.preset;
  // A whole configuration (run.toml) brings its own sizes; a preset under it would be set and overwritten.
  if (loaded.preset.empty() && settings.config_files.empty()) {
    const auto fitting = lesson.presets.find(device_kind);
    if (fitting != lesson.presets.end()) loaded.preset = fitting->second;
    loaded.preset_was_chosen = !loaded.preset.empty();
  }
  Layers layers(home, lesson, loaded);
  layers.apply_base(read_toml(home / "lessons" / "base.toml"));
  layers.apply(overrides_of(lesson));
  if (!loaded.preset.empty()) layers.apply(read_toml(preset_file(home, loaded.preset)));
  for (const fs::path& file : settings.config_files) layers.apply(without_environment(read_toml(file)));
  std::vector<TomlEntry> sets;
  for (const std::string& text : settings.sets) sets.push_back(entry_of_set(text, layers.keys()));
  layers.apply(sets);
  derive_groups(loaded.config, loaded.origins);
  return loaded;
}

LoadedConfig load_config(const fs::path& home, const LessonInfo& lesson, const Settings& settings,
                         const std::string& device_kind) {
  LoadedConfig loaded = read_config(home, lesson, settings, device_kind);
  validate(loaded.config, loaded.origins, honours(lesson, "train.global_batch"));
  if (honours(lesson, "mesh.pp")) check_passes(loaded.config, loaded.origins);
  if (!settings.resume.empty() && loaded.config.run.measure != MeasureKind::none) {
    throw Error("a run that only measures cannot continue another", "--resume " + settings.resume,
                "leave out --resume, or run.measure");
  }
  check_choices(lesson, loaded, home);
  return loaded;
}

std::string to_toml(const Config& config) {
  Config copy = config;
  std::ostringstream out;
  std::string section;
  for (const Key& key : keys_of(copy)) {
    const std::size_t dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      if (!section.empty()) out << "\n";
      section = key.name.substr(0, dot);
      out << "[" << section << "]\n";
    }
    out << key.name.substr(dot + 1) << " = " << toml_value(key.place) << "\n";
  }
  return out.str();
}

}  // namespace isobar
