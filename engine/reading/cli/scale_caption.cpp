#include "cli/scale_caption.h"

#include <fmt/format.h>

#include "analyse/cluster_prediction.h"
#include "core/text.h"
#include "formula/machine_rates.h"
#include "formula/stage_prediction.h"
#include "log/run_files.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

bool has_target(const ScaleResult& result) { return result.arguments.target_loss > 0; }

/// A key of the environment that the first run wrote down; "" when no run did.
std::string environment_of(const ScaleResult& result, const std::string& key) {
  for (const MeasuredPoint& point : result.runs.points()) {
    for (const auto& folder : point.runs) {
      if (!std::filesystem::exists(RunFolder{folder}.config_file())) continue;
      if (std::string value = value_in(config_of(folder), "environment." + key); !value.empty()) return value;
    }
  }
  return "";
}

bool runs_on_processors(const ScaleResult& result) {
  return !result.arguments.as_jobs && result.runs.config(0).config.run.device.rfind("cuda", 0) != 0;
}

std::string law_sentence(const ScaleResult& result) {
  const std::int64_t base = result.scaling.base_ranks;
  const std::int64_t batch =
      result.runs.config(0).config.train.global_batch;  // the batch of the fewest ranks
  const std::int64_t each = ranks_of_model(result.runs.config(0).config);
  if (result.arguments.law == ScalingLaw::weak)
    return fmt::format("Weak: {} samples a {} and step; efficiency E = T({}) / T(N), T the time of a step.",
                       batch * each / base, each == 1 ? "rank" : fmt::format("model of {} ranks", each),
                       base);
  return fmt::format(
      "Strong: {} samples a step, divided over the ranks; efficiency E = {}T({}) / (N T(N)), T the time of a "
      "step.",
      batch, base == 1 ? "" : fmt::format("{} ", base), base);
}

std::string target_sentence(const ScaleResult& result) {
  const Config& config = result.runs.config(0).config;
  const std::int64_t samples = config.train.global_batch * config.train.steps;
  return fmt::format(
      "Real: whole runs of {} samples, whose first epoch is left out of the rates; s to {:g}: from the "
      "beginning of the run, validation included, until the validation loss first was there; "
      "schedule.lr_rule {}.",
      human_count(samples), result.arguments.target_loss, name_of(config.schedule.lr_rule));
}

/// Epochs and steps of the whole runs; "" where none was trained.
std::string study_sentence(const ScaleResult& result) {
  const RunView* const view = result.runs.first_view();
  if (view == nullptr || !view->summary.measure.empty() || view->steps_per_epoch == 0) return "";
  const Config& config = result.runs.config(0).config;
  const std::int64_t valid =
      (config.data.limit_valid + config.train.global_batch - 1) / config.train.global_batch;
  const std::int64_t repeats = result.arguments.measure.repeats;
  return fmt::format("A whole run on {}: {:.3g} epochs of {} training{}; {}.",
                     counted(result.arguments.ranks.front(), "rank"),
                     static_cast<double>(config.train.steps) / static_cast<double>(view->steps_per_epoch),
                     view->steps_per_epoch,
                     valid > 0 ? fmt::format(" and {} validation steps", valid) : " steps and a validation",
                     repeats == 1 ? "one run" : fmt::format("median of {} runs", repeats));
}

std::string energy_sentence(const ScaleResult& result) {
  return fmt::format("Wh: rank-h times {:g} W that each rank is assumed to draw; no run recorded power.",
                     result.arguments.watts);
}

std::string steps_sentence(const ScaleResult& result) {
  const MeasureArguments& measure = result.arguments.measure;
  const std::string repeats =
      measure.repeats == 1
          ? "One run each."
          : fmt::format("Median of {} runs, which took turns; ranges and bars: all pairs of them.",
                        measure.repeats);
  return fmt::format("T: the mean of {} steps after {} of warm-up, on the slowest rank. {}", measure.steps,
                     kMeasureWarmUpSteps, repeats);
}

/// Who carried the gradients, by what the ranks measured at their start; "" = no run has it.
std::string backend_of(const ScaleResult& result) {
  for (const MeasuredPoint& point : result.runs.points()) {
    for (const SteadyFigures& one : point.repeats) {
      if (one.ranks && one.ranks->probe) return ", gradients by " + one.ranks->probe->backend;
    }
  }
  return "";
}

std::string precision_of(const ScaleResult& result) {
  const RunView* const view = result.runs.first_view();
  if (view == nullptr) return "";
  return view->summary.precision.empty() ? "fp32" : view->summary.precision;
}

std::string place_sentence(const ScaleResult& result) {
  const MeasureArguments& measure = result.arguments.measure;
  const CommConfig& comm = result.runs.config(0).config.comm;
  const bool linked = comm.link.gbit_per_s > 0 || comm.link.latency_us > 0;
  const std::string settings = measure.settings_text(measure.lesson.name, "");
  const std::string place = !result.arguments.as_jobs ? "All ranks on this machine"
                            : result.arguments.job.title.empty()
                                ? "Jobs of Slurm, one after the other"
                                : "Jobs of Slurm on " + result.arguments.job.title + ", one after the other";
  const std::string threads =
      result.plan.threads == 0 ? "" : ", " + counted(result.plan.threads, "thread") + " each at every point";
  const std::string link = !linked ? ""
                                   : fmt::format(", over an emulated link of {:g} Gb/s and {:g} us",
                                                 comm.link.gbit_per_s, comm.link.latency_us);
  return fmt::format("{}{}, {}{}{}.{}", place, threads, precision_of(result), backend_of(result), link,
                     settings.empty() ? "" : " Settings: " + settings);
}

/// What the processors do to the figures; "" = nothing.
std::string crowd_sentence(const ScaleResult& result) {
  if (!runs_on_processors(result)) return "";
  std::vector<std::int64_t> crowded;
  for (const std::int64_t ranks : result.arguments.ranks) {
    if (ranks * result.plan.threads > result.plan.processors) crowded.push_back(ranks);
  }
  if (crowded.empty()) return "";
  return fmt::format("{} ranks of {} share {}: what is lost there is no measure of a network.",
                     joined(crowded), counted(result.plan.threads, "thread"),
                     counted(result.plan.processors, "processor"));
}

}  // namespace

std::string machine_of(const ScaleResult& result) {
  const std::string device = environment_of(result, "device_is");
  if (result.arguments.as_jobs) return device.empty() ? "the nodes of jobs" : device;
  return (device.empty() ? "" : device + ", ") + counted(result.plan.processors, "processor");
}

SimulatedScaling simulated_beyond(const ScaleResult& result) {
  const Config& config = result.runs.config(0).config;
  const bool here = runs_on_processors(result);
  SimulatedStudy study{.config = config, .up_to = result.arguments.up_to};
  const std::optional<MachineRates> rates = here ? kept_machine_rates() : std::nullopt;
  const bool emulated = config.comm.link.gbit_per_s > 0 || config.comm.link.latency_us > 0;
  if (emulated || rates) study.link = link_between(config, rates ? rates->link : Link{});
  if (study.link)
    study.link_words =
        fmt::format("{} ({}, {:.3g} us)", emulated ? "an emulated link" : "the link of this machine",
                    study.link->bytes_per_us > 0 ? fmt::format("{:.3g} Gb/s", study.link->bytes_per_us / 125)
                                                 : "of any rate",
                    study.link->latency_us);
  if (here) {
    study.processors_a_rank = static_cast<double>(result.plan.threads);
    study.processors = static_cast<double>(result.plan.processors);
  }
  return simulate_scaling(result.scaling, study);
}

ScalingCaption caption_of(const ScaleResult& result) {
  const MeasureArguments& measure = result.arguments.measure;
  const LoadedConfig& loaded = result.runs.config(0);
  ScalingCaption out;
  out.title = fmt::format("{} scaling of {}{}", result.arguments.law == ScalingLaw::weak ? "Weak" : "Strong",
                          measure.lesson.name, loaded.preset.empty() ? "" : ", preset " + loaded.preset);
  const std::string started = environment_of(result, "started");
  out.subtitle = fmt::format("measured here: {}{}{}", machine_of(result), started.empty() ? "" : ", ",
                             started.substr(0, 10));
  out.protocol = {law_sentence(result), steps_sentence(result)};
  if (has_target(result)) {
    if (std::string study = study_sentence(result); !study.empty()) out.protocol.push_back(std::move(study));
    out.protocol.push_back(target_sentence(result));
    out.protocol.push_back(
        "x samples/s: speed-up of the rate; x to target: of the time until the loss was reached; against " +
        counted(result.scaling.base_ranks, "rank") + ".");
    if (result.arguments.watts > 0) out.protocol.push_back(energy_sentence(result));
  }
  out.protocol.push_back(place_sentence(result));
  if (const std::string crowd = crowd_sentence(result); !crowd.empty()) out.protocol.push_back(crowd);
  const std::vector<std::string>& notes = result.scaling.notes;
  out.protocol.insert(out.protocol.end(), notes.begin(), notes.end());
  const std::vector<std::string>& simulated = result.simulated.protocol;
  out.protocol.insert(out.protocol.end(), simulated.begin(), simulated.end());
  if (result.simulated.empty()) return out;
  const std::string known =
      known_error(earned_errors(project_home(), fitted_terms()), result.runs.config(0).config);
  if (!known.empty()) out.protocol.push_back("Known error of such simulations: " + known + ".");
  return out;
}

}  // namespace isobar
