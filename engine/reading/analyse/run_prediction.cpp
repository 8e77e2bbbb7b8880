#include "analyse/run_prediction.h"

#include <cstdlib>

#include "analyse/run_case.h"
#include "config/load.h"
#include "core/error.h"
#include "core/machine.h"
#include "core/processors.h"
#include "log/run_reader.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> differing(const ConfigText& run, const ConfigText& wanted) {
  std::vector<std::string> out;
  for (const KeyRow& row : key_rows({&run, &wanted})) {
    const bool is_other = row.differs && !row.is_label() && !row.is_environment() && row.key != "train.steps";
    if (is_other && !is_left_open(row.key, row.values[1])) out.push_back(row.key);
  }
  return out;
}

}  // namespace

bool is_of_this_machine(const ConfigText& run) {
  return value_in(run, "environment.host") == host_name() && value_in(run, "environment.cpu") == cpu_name() &&
         value_in(run, "environment.device") == "cpu";
}

bool is_left_open(std::string_view key, std::string_view value) {
  return value == "auto" || (key == "run.threads" && value == "0") || (key == "data.root" && value.empty());
}

std::optional<KnownSettings> settings_of(const fs::path& run, const std::string& lesson) {
  try {
    LessonInfo info = read_lesson(project_home(), lesson);
    Settings settings;
    settings.config_files.push_back(RunFolder{run}.config_file());
    Config config = read_config(project_home(), info, settings, "cpu").config;
    return KnownSettings{std::move(info), std::move(config)};
  } catch (const Error&) {  // a lesson or key of another version
    return std::nullopt;
  }
}

std::optional<MachineRates> rates_behind(const ConfigText& run) {
  if (!is_of_this_machine(run)) return std::nullopt;
  try {
    return kept_machine_rates();
  } catch (const Error&) {  // a file that is damaged; predict reports it
    return std::nullopt;
  }
}

double memory_rate(const ConfigText& run, const MachineRates& rates) {
  const int threads = std::atoi(value_in(run, "environment.threads").c_str());
  return is_of_this_machine(run) && threads > 0 ? rates.with(threads).memory_bytes_per_s : 0;
}

std::optional<StepStages> predicted_stages(const KnownSettings& settings, const MachineRates& rates) {
  if (settings.lesson.stands_alone) return std::nullopt;  // the formulas are of a transformer
  try {
    return predict_stages(settings.lesson, settings.config, rates, processors_here());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<StepStages> predicted_for(const fs::path& run, const std::string& lesson) {
  if (!fs::exists(RunFolder{run}.config_file())) return std::nullopt;
  const std::optional<MachineRates> rates = rates_behind(config_of(run));
  const std::optional<KnownSettings> settings = rates ? settings_of(run, lesson) : std::nullopt;
  return settings ? predicted_stages(*settings, *rates) : std::nullopt;
}

std::vector<std::string> differing_settings(const ConfigText& run, const Config& config) {
  return differing(run, config_text(to_toml(config), "the settings"));
}

std::optional<RunLike> newest_run_like(const std::string& lesson, const Config& config,
                                       const fs::path& parent) {
  const ConfigText wanted = config_text(to_toml(config), "the settings");
  for (const KnownRun& run : known_runs(parent)) {
    if (!is_of_this_machine(run.config) || !differing(run.config, wanted).empty()) continue;
    const RunView view = glance(run.folder);
    if (view.lesson == lesson && view.state == RunState::done && view.is_measured_here() &&
        view.fault.empty() && view.summary.step_us > 0)
      return RunLike{run.folder, view.summary};
  }
  return std::nullopt;
}

}  // namespace isobar
