#include "course/needed_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analyse/run_prediction.h"
#include "analyse/spread.h"
#include "config/fault.h"
#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/nvidia.h"
#include "core/processors.h"
#include "core/text.h"
#include "formula/link_fit.h"
#include "formula/stage_prediction.h"
#include "log/run_reader.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kStartHere_s = 2;     ///< start of a program until its first step
constexpr double kBesideSteps = 1.15;  ///< validation, and steps that are written down
constexpr double kSplitLayers = 1.5;   ///< a step over ranks that share a model, to that of one process
constexpr double kStartAlone_s = 0.3;  ///< start of a program without libtorch and data, on a slow laptop too
constexpr double kStepAlone_us = 200;  ///< its step, with the line that it writes; ranks share two processors
constexpr double kEmulated = 1.2;      ///< a step in emulated 16 bits, to one in fp32 (tests/bench/results)

constexpr int kSlowLaptopProcessors = 2;
constexpr double kSlowLaptopStart_s = 4;  ///< program, libtorch, data and the first validation

/// A machine that a course must not be too slow for: two cores without wide vectors, about half as fast as
/// those of an AMD EPYC of 2021 in everything.
MachineRates slow_laptop_rates() {
  MachineRates out;
  out.machine = "a slow laptop, 2 processors";
  out.measured = "2026-11-25T00:00:00Z";
  out.read_bytes_per_s = 2e9;
  out.link = {.latency_us = 130, .bytes_per_us = 2000};
  for (const int threads : {1, 2}) {
    const double cores = threads;
    ThreadRates rates;
    rates.threads = threads;
    rates.fp32 = {.peak_flops_per_s = cores * 45e9,
                  .patch_flops_per_s = cores * 20e9,
                  .gemm = {{27'648, cores * 22e9}, {442'368, cores * 40e9}},
                  .attention_forward = {{72, cores * 14e9}, {990, cores * 30e9}},
                  .attention_backward = {{72, cores * 15e9}, {990, cores * 30e9}},
                  .element = {{27'648, cores * 4e9}},
                  .element_fused = {{27'648, cores * 3e9}}};
    rates.memory_bytes_per_s = cores * 5e9;
    rates.adam = rates.fused_adam = {{708'960, cores * 7e9}};
    rates.ends_us_per_value = 12e-3 / cores;
    rates.fused_ends_us_per_value = 2e-3 / cores;
    out.threads.push_back(rates);
  }
  return out;
}

bool is_cpu_preset(const std::string& preset) { return preset.rfind("cpu", 0) == 0; }

bool sets_key(const std::vector<std::string>& sets, const std::string& key) {
  return std::ranges::any_of(sets, [&](const std::string& set) {
    return set.rfind(key, 0) == 0 && set.find_first_not_of(' ', key.size()) == set.find('=');
  });
}

/// The command that makes such a run, as it would be typed.
std::string command_of(const NeededRun& wanted) {
  const Settings settings = run_settings(wanted);
  std::vector<std::string> words = {"./isobar", wanted.predicted.empty() ? "run" : "predict", wanted.lesson};
  if (!wanted.predicted.empty()) words.insert(words.end(), {"--device", wanted.predicted});
  if (!settings.preset.empty()) words.insert(words.end(), {"--preset", settings.preset});
  for (const std::string& set : settings.sets) words.insert(words.end(), {"--set", set});
  if (wanted.ranks > 1) words.insert(words.end(), {"--ranks", std::to_string(wanted.ranks)});
  if (!wanted.predicted.empty()) {
    std::string name = "predicted-" + wanted.lesson + "-" + wanted.name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !is_name_letter(c); }, '-');
    words.insert(words.end(), {"--run-dir", "runs/" + name});
  }
  for (std::string& word : words) word = shell_quoted(word);
  return joined(words, " ");
}

LoadedConfig config_of(const NeededRun& wanted, const LessonInfo& lesson, const fs::path& home) {
  Settings settings = run_settings(wanted);
  if (wanted.ranks > 1) settings.sets.push_back("run.ranks=" + std::to_string(wanted.ranks));
  const bool on_cpu = lesson.stands_alone || (wanted.predicted.empty() && is_cpu_preset(wanted.preset));
  return load_config(home, lesson, settings,
                     preset_device_kind(settings, [&] { return std::string(on_cpu ? "cpu" : "cuda"); }));
}

/// Cheap facts first: a folder may hold thousands of runs.
bool may_fit(const ConfigText& run, const FoundRuns& found) {
  const Config& config = found.config.config;
  return value_in(run, "run.ranks") == std::to_string(config.run.ranks) &&
         value_in(run, "train.global_batch") == std::to_string(config.train.global_batch) &&
         (!found.wanted.predicted.empty() ||
          (value_in(run, "train.steps") == std::to_string(config.train.steps) && is_of_this_machine(run)));
}

/// The view of a run where it fits.
std::optional<RunView> fitting(const KnownRun& run, const FoundRuns& found) {
  if (!may_fit(run.config, found) || !differing_settings(run.config, found.config.config).empty())
    return std::nullopt;
  RunView view = glance(run.folder);
  if (view.lesson != found.wanted.lesson) return std::nullopt;
  if (!found.wanted.predicted.empty()) {
    if (view.provenance != "predicted" || view.device != found.wanted.predicted) return std::nullopt;
  } else if (!view.is_measured_here() || view.attempt > 0 || !ended_as_wanted(found.wanted, view.state)) {
    return std::nullopt;
  }
  return view;
}

void look_for(const std::vector<KnownRun>& known, bool is_timed, FoundRuns& out,
              std::vector<double>& walls_s) {
  std::vector<fs::path> disturbed;
  for (const KnownRun& run : known) {
    if (out.folders.size() == kMostRunRepeats) break;
    try {
      const std::optional<RunView> view = fitting(run, out);
      if (!view) continue;
      walls_s.push_back(view->summary.wall_s);
      (is_disturbed(*view, run.config) ? disturbed : out.folders).push_back(run.folder);
    } catch (const Error&) {  // what cannot be read fits nothing
    }
  }
  if (is_timed) {
    out.disturbed = std::move(disturbed);
    return;
  }
  const auto enough = static_cast<std::size_t>(out.wanted.repeats);
  for (const fs::path& folder : disturbed) {
    if (out.folders.size() >= enough) break;
    out.folders.push_back(folder);
  }
}

double start_of(const LessonInfo& lesson) { return lesson.stands_alone ? kStartAlone_s : kStartHere_s; }

FoundRuns find_one(const NeededRun& wanted, bool is_timed, const fs::path& home,
                   const std::vector<KnownRun>& known, const MachineRates* rates) {
  FoundRuns out{.wanted = wanted, .is_timed = is_timed};
  if (!wanted.recorded.empty()) {
    const fs::path folder = home / "lessons" / wanted.recorded;
    if (is_run_folder(folder)) {
      out.folders = {folder};
    } else {
      out.missing = 1;
      out.cannot = "the recorded run " + wanted.recorded + " is not beside the lessons";
    }
    return out;
  }
  const LessonInfo lesson = read_lesson(home, wanted.lesson);
  out.config = config_of(wanted, lesson, home);
  out.command = command_of(wanted);
  std::vector<double> walls_s;
  look_for(known, is_timed, out, walls_s);
  const std::int64_t needed = wanted.predicted.empty() ? wanted.repeats : 1;
  out.missing = std::max<std::int64_t>(0, needed - static_cast<std::int64_t>(out.folders.size()));
  if (out.missing == 0 || !wanted.predicted.empty()) return out;
  if (lesson.needs == "cuda" && !has_nvidia_driver()) {
    out.cannot = "lesson " + lesson.name + " needs an NVIDIA GPU";
    return out;
  }
  const double one_s = walls_s.empty() ? run_cost_s(lesson, out.config.config, rates)
                                       : Spread(walls_s).median() + start_of(lesson);
  out.cost_s = static_cast<double>(out.missing) * one_s;
  return out;
}

/// Microseconds of a step, also where the formula does not know how it is made.
double step_us_of(const LessonInfo& lesson, Config config, const MachineRates& rates,
                  const Processors& processors) {
  double longer = 1;
  if (config.mesh.tp > 1) {
    longer *= kSplitLayers;
    config.run.ranks /= config.mesh.tp;
    config.mesh.tp = 1;
  }
  try {
    return longer * predict_stages(lesson, config, rates, processors).step_us();
  } catch (const Error&) {  // a type that was not measured
    config.amp.mode = AmpMode::none;
    return longer * kEmulated * predict_stages(lesson, config, rates, processors).step_us();
  }
}

/// The mean step of a bench of all-reduces over an emulated link: sizes in turn, each four times as large.
double all_reduce_step_us(const Config& config) {
  constexpr double kSmallest = 1024, kTimesLarger = 4, kSlowLink = 10;
  const LinkConfig& asked = config.comm.link;
  Link link = link_of(asked.latency_us, asked.gbit_per_s);
  const auto most = static_cast<double>(config.comm.bench_bytes);
  const auto ranks = static_cast<int>(config.run.ranks);
  if (config.run.fault == Fault::rank_order) link.bytes_per_us /= std::max(1.0, ranks / 2.0);
  double sum_us = 0, sizes = 0;
  for (double bytes = 0; bytes < most; ++sizes) {
    bytes = std::min(most, bytes == 0 ? kSmallest : bytes * kTimesLarger);
    sum_us += all_reduce_us(config.comm.algorithm, link, ranks, bytes);
  }
  return (config.run.fault == Fault::slow_link ? kSlowLink : 1) * sum_us / sizes;
}

double cost_alone_s(const LessonInfo& lesson, const Config& config) {
  const auto steps = static_cast<double>(config.train.steps);
  double out = static_cast<double>(config.run.ranks) * (kStartAlone_s + kStepAlone_us * 1e-6 * steps);
  if (honours(lesson, "comm.bench_bytes")) out += all_reduce_step_us(config) * 1e-6 * steps;
  return out + (config.run.fault == Fault::drop_message ? config.comm.timeout_s : 0);
}

}  // namespace

bool ended_as_wanted(const NeededRun& wanted, RunState state) {
  if (wanted.fails.empty()) return state == RunState::done;
  const bool by_signal = number_of<int>(wanted.fails).value_or(0) >= 128;
  return state == RunState::failed || (by_signal && state == RunState::died);
}

Settings run_settings(const NeededRun& wanted) {
  Settings out;
  out.preset = wanted.preset;
  if (wanted.predicted.empty() && is_cpu_preset(wanted.preset) && !sets_key(wanted.sets, "run.device"))
    out.sets.emplace_back("run.device=cpu");
  out.sets.insert(out.sets.end(), wanted.sets.begin(), wanted.sets.end());
  if (wanted.steps > 0) out.sets.push_back("train.steps=" + std::to_string(wanted.steps));
  return out;
}

double run_cost_s(const LessonInfo& lesson, const Config& config, const MachineRates* rates) {
  if (lesson.stands_alone) return cost_alone_s(lesson, config);
  const bool is_here = rates != nullptr;
  const MachineRates slow = is_here ? MachineRates{} : slow_laptop_rates();
  double step_us = step_us_of(lesson, config, is_here ? *rates : slow,
                              is_here ? processors_here() : Processors{.count = kSlowLaptopProcessors});
  if (row_of(config.run.fault).takes("ms")) step_us += 1e3 * static_cast<double>(config.run.fault_ms);
  const double start_s =
      (is_here ? kStartHere_s : kSlowLaptopStart_s) * static_cast<double>(config.run.ranks);
  const double waits_s = config.run.fault == Fault::stop_rank ? config.comm.timeout_s : 0;
  return start_s + waits_s + kBesideSteps * step_us * 1e-6 * static_cast<double>(config.train.steps);
}

std::vector<FoundRuns> find_runs(const Question& question, const fs::path& home,
                                 const std::vector<KnownRun>& known, const MachineRates* rates) {
  std::vector<FoundRuns> out;
  for (const NeededRun& wanted : question.runs) {
    try {
      out.push_back(find_one(wanted, is_timed(question), home, known, rates));
    } catch (const Error& error) {  // its settings are those of the question, not of a command line
      throw Error(question.id + ", run " + wanted.name + ": " + error.what(),
                  wanted.origin.empty() ? question.origin : wanted.origin, error.hint(), error.code());
    }
  }
  return out;
}

std::vector<FoundRuns> find_runs(const Question& question, const fs::path& home, const fs::path& runs,
                                 const MachineRates* rates) {
  return find_runs(question, home, known_runs(runs), rates);
}

void add_missing(std::vector<FoundRuns>& missing, const std::vector<FoundRuns>& found) {
  for (const FoundRuns& one : found) {
    if (one.missing == 0) continue;
    FoundRuns* const same =
        one.command.empty() ? nullptr : find_by(missing, &FoundRuns::command, one.command);
    if (same == nullptr) {
      missing.push_back(one);
    } else {
      const bool is_timed = one.is_timed && same->is_timed;  // who asks for no time takes it as it is
      if (one.missing > same->missing) *same = one;
      same->is_timed = is_timed;
    }
  }
}

std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions, const fs::path& home,
                                    const std::vector<KnownRun>& known, const MachineRates* rates) {
  std::vector<FoundRuns> out;
  for (const Question& question : questions) add_missing(out, find_runs(question, home, known, rates));
  return out;
}

std::string cost_text(const std::vector<FoundRuns>& found) {
  std::int64_t all = 0, missing = 0, predictions = 0;
  for (const FoundRuns& one : found) {
    if (!one.wanted.predicted.empty()) {
      predictions += one.missing;
    } else if (one.wanted.recorded.empty()) {
      all += one.wanted.repeats;
      missing += one.missing;
    }
  }
  const std::string predicted =
      predictions > 0 ? counted(predictions, "prediction") + ", made immediately" : "";
  if (missing == 0) {
    if (!predicted.empty()) return predicted;
    return all == 0   ? "nothing has to be run"
           : all == 1 ? "its run already exists"
                      : fmt::format("all {} runs already exist", all);
  }
  const std::string runs =
      missing == all ? counted(missing, "run") : fmt::format("{} of {} runs", missing, all);
  return fmt::format("{}, about {}{}", runs, about_seconds(cost_s(found)),
                     predicted.empty() ? "" : "; " + predicted);
}

double cost_s(const std::vector<FoundRuns>& found) {
  double out = 0;
  for (const FoundRuns& one : found) out += one.cost_s;
  return out;
}

RuleInput rule_input(const Question& question, const fs::path& home, const std::vector<FoundRuns>& found) {
  RuleInput out{.question = question, .runs = {}, .home = home};
  for (const FoundRuns& one : found) {
    if (one.folders.empty()) {
      if (!one.disturbed.empty()) out.runs[one.wanted.name].crowded = one.disturbed.size();
      continue;
    }
    RunCase read = read_case(one.folders.front());
    read.crowded = one.disturbed.size();
    for (std::size_t i = 1; i < one.folders.size(); ++i) {
      read.repeats.push_back(steady_figures(one.folders[i]));
      read.folders.push_back(one.folders[i]);
    }
    out.runs.emplace(one.wanted.name, std::move(read));
  }
  return out;
}

}  // namespace isobar
