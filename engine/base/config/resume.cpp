#include "config/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/keys.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

bool take_resume_key(Settings& settings) {
  constexpr std::string_view kKey = "train.resume=";
  std::string named;
  const auto is_key = [&](const std::string& set) {
    if (!set.starts_with(kKey)) return false;
    named = set.substr(kKey.size());
    const char quote = named.size() >= 2 && named.front() == named.back() ? named.front() : '\0';
    if (quote == '"' || quote == '\'') named = named.substr(1, named.size() - 2);
    return true;
  };
  if (std::erase_if(settings.sets, is_key) == 0) return false;
  if (!settings.resume.empty() && !named.empty())
    throw Error("the run to continue is named twice", "--resume and train.resume", "--resume alone");
  if (settings.resume.empty()) settings.resume = named;
  return true;
}

Settings resumed_settings(const Settings& settings, const fs::path& run) {
  if (!settings.preset.empty()) {
    throw Error("a resumed run keeps its sizes: a preset cannot be chosen again",
                "--preset " + settings.preset, "leave it out; --set changes single keys");
  }
  const fs::path file = run / "run.toml";
  if (!fs::exists(file)) {
    throw Error("there is no run to continue: the folder has no run.toml", run.string(),
                "--resume names a run folder; ./isobar runs lists them");
  }
  Settings out = settings;
  out.config_files.insert(out.config_files.begin(), file);
  return out;
}

bool may_change_on_resume(const std::string& key, const Config& before) {
  static constexpr std::array<std::string_view, 12> kFree = {
      "data.root",           "data.throttle_mb_per_s", "loader.kind",
      "train.report_every",  "train.checkpoint_every", "train.keep_checkpoints",
      "train.init",          "train.save_init",        "amp.max_skips",
      "amp.histogram_every", "train.noise_every",      "data.read_group"};
  // Checkpoints hold whole tensors, whichever rank had which piece.
  if (key == "train.resume" || key.rfind("run.", 0) == 0 || key.rfind("mesh.", 0) == 0) return true;
  if (key.rfind("comm.", 0) == 0) return key != "comm.sync";  // how ranks talk, not what they agree on
  if (key == "train.steps")
    return before.schedule.kind == ScheduleKind::constant;  // else every rate changes with it
  return std::find(kFree.begin(), kFree.end(), key) != kFree.end();
}

void check_resumable(const Config& before, const LoadedConfig& now) {
  Config old = before;
  Config changed = now.config;
  if (members(old) != members(changed))
    throw Error(fmt::format("an ensemble has {} in the run that is resumed and cannot have {}",
                            counted(members(old), "member"), members(changed)),
                "mesh.members_per_device and mesh.gpus_per_ensemble",
                fmt::format("members_per_device x gpus_per_ensemble / gpus_per_model = {}", members(old)));
  const std::vector<Key> old_keys = keys_of(old);
  const std::vector<Key> new_keys = keys_of(changed);
  for (std::size_t i = 0; i < old_keys.size(); ++i) {
    const Key& key = new_keys[i];
    if (same_value(old_keys[i].place, key.place) || may_change_on_resume(key.name, before)) continue;
    const auto origin = now.origins.find(key.name);
    throw Error(
        fmt::format("{} is {} in the run that is resumed and cannot become {}", key.name,
                    toml_value(old_keys[i].place), toml_value(key.place)),
        origin == now.origins.end() ? "--resume" : origin->second,
        "start a new run from its weights: train.init=<run>/weights.safetensors, or model.safetensors of a "
        "checkpoint");
  }
}

}  // namespace isobar
