#include "cli/scale_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_files.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace {

constexpr std::size_t kScaleColumns = 110;

std::string number(double value, const char* format, double scale = 1) {
  return value < 0 ? "-" : fmt::format(fmt::runtime(format), value * scale);
}

bool has_target(const ScaleResult& result) { return result.arguments.target_loss > 0; }

TableRow head_of(const ScaleResult& result) {
  TableRow out = {"line",       "ranks",   "batch",      "samples/s", "min .. max", "efficiency",
                  "min .. max", "step ms", "exposed ms", "of step",   "rank-h/M"};
  if (has_target(result)) {
    const std::string loss = fmt::format("s to {:g}", result.arguments.target_loss);
    out.insert(out.end(), {loss, "samples", "rank-h", "reached by"});
  }
  return out;
}

TableRow row_of(const ScalingFigures& point, bool target) {
  TableRow out = {line_name(point.line), std::to_string(point.ranks),
                  point.batch > 0 ? fmt::format("{:g}", point.batch) : "-"};
  if (point.is_gap()) {
    out.insert(out.end(), {"-", "-", "-", "-", "-", "-", "-", "-"});
  } else {
    const Spread& rate = point.samples_per_s;
    out.push_back(fmt::format("{:.1f}", rate.median()));
    const bool repeats = rate.values.size() > 1;  // one run has no spread
    out.push_back(repeats ? fmt::format("{:.1f} .. {:.1f}", rate.least(), rate.most()) : "-");
    const auto& efficiency = point.efficiency;
    out.push_back(efficiency ? fmt::format("{:.1f} %", 100 * efficiency->value) : "-");
    out.push_back(efficiency && repeats
                      ? fmt::format("{:.1f} .. {:.1f}", 100 * efficiency->least, 100 * efficiency->most)
                      : "-");
    out.push_back(fmt::format("{:.2f}", point.step_us.median() * 1e-3));
    out.push_back(number(point.exposed_us, "{:.2f}", 1e-3));
    out.push_back(number(point.exposed_share, "{:.1f} %", 100));
    out.push_back(number(point.rank_hours_per_million, "{:.3g}"));
  }
  if (!target) return out;
  if (!point.to_target) {
    out.insert(out.end(), {"", "", "", ""});
    return out;
  }
  const ToTarget& to = *point.to_target;
  out.push_back(number(to.time_s, "{:.1f}"));
  out.push_back(to.samples < 0 ? "-" : human_count(std::llround(to.samples)));
  out.push_back(number(to.rank_hours, "{:.3g}"));
  out.push_back(fmt::format("{} of {}", to.reached, to.of));
  return out;
}

std::string part_text(const StepPart& part, const char* what) {
  return part.is_noise ? fmt::format(", {} within the noise", what)
                       : fmt::format(", {:.2f} {}", part.time_us * 1e-3, what);
}

std::string parts_sentence(const ScalingParts& parts, const ScaleResult& result, std::int64_t ranks) {
  const double all_us = parts.ideal_us + parts.beside.time_us + parts.comm.time_us + parts.data.time_us;
  const bool strong = result.arguments.law == ScalingLaw::strong;
  return fmt::format("{} ranks: a real step of {:.2f} ms is {:.2f} ideal", ranks, all_us * 1e-3,
                     parts.ideal_us * 1e-3) +
         part_text(parts.beside, strong ? "smaller batches and computing beside each other"
                                        : "computing beside each other") +
         part_text(parts.comm, "communication") + part_text(parts.data, "data");
}

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

std::string machine_of(const ScaleResult& result) {
  const std::string device = environment_of(result, "device_is");
  if (result.arguments.as_jobs) return device.empty() ? "the nodes of jobs" : device;
  return (device.empty() ? "" : device + ", ") + counted(result.plan.processors, "processor");
}

std::string ranks_list(const std::vector<std::int64_t>& ranks) {
  std::vector<std::string> words;
  for (const std::int64_t count : ranks) words.push_back(std::to_string(count));
  return joined(words);
}

std::string law_sentence(const ScaleResult& result) {
  const std::int64_t base = result.scaling.base_ranks;
  const std::int64_t batch = result.runs.config(0).config.train.global_batch;  // of the fewest ranks
  const std::int64_t tp = result.runs.config(0).config.mesh.tp;
  if (result.arguments.law == ScalingLaw::weak)
    return fmt::format("Weak: {} samples a {} and step; efficiency E = T({}) / T(N), T the time of a step.",
                       batch * tp / base, tp == 1 ? "rank" : fmt::format("model of {} ranks", tp), base);
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
      "beginning of "
      "the run, validation included, until the validation loss first was there; schedule.lr_rule {}.",
      human_count(samples), result.arguments.target_loss, name_of(config.schedule.lr_rule));
}

std::string steps_sentence(const ScaleResult& result) {
  const MeasureArguments& measure = result.arguments.measure;
  const std::string repeats =
      measure.repeats == 1
          ? "One run each."
          : fmt::format("Median of {} runs, which took turns; min .. max and bars: all pairs of them.",
                        measure.repeats);
  return fmt::format("T: the mean of {} steps after {} of warm-up, on the slowest rank. {}", measure.steps,
                     kMeasureWarmUpSteps, repeats);
}

/// Who carried the gradients, by what the ranks measured at their start; "" = no run says it.
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
  if (result.plan.threads == 0)
    return fmt::format("{}, {}{}.{}", place, precision_of(result), backend_of(result),
                       settings.empty() ? "" : " Settings: " + settings);
  return fmt::format("{}, {} each at every point, {}{}{}.{}", place, counted(result.plan.threads, "thread"),
                     precision_of(result), backend_of(result),
                     linked ? fmt::format(", over an emulated link of {:g} Gb/s and {:g} us",
                                          comm.link.gbit_per_s, comm.link.latency_us)
                            : "",
                     settings.empty() ? "" : " Settings: " + settings);
}

/// What the processors do to the figures; "" = nothing.
std::string crowd_sentence(const ScaleResult& result) {
  if (result.arguments.as_jobs || result.runs.config(0).config.run.device.rfind("cuda", 0) == 0) return "";
  std::vector<std::int64_t> crowded;
  for (const std::int64_t ranks : result.arguments.ranks) {
    if (ranks * result.plan.threads > result.plan.processors) crowded.push_back(ranks);
  }
  if (crowded.empty()) return "";
  return fmt::format("{} ranks of {} share {}: what is lost there says nothing of a network.",
                     ranks_list(crowded), counted(result.plan.threads, "thread"),
                     counted(result.plan.processors, "processor"));
}

Json point_json(const ScalingFigures& point, const MeasuredPoint& measured) {
  Json out = {{"line", line_name(point.line)}, {"ranks", point.ranks}, {"runs", measured.folders_json()}};
  if (!point.missing.empty()) out["missing"] = point.missing;
  if (point.batch > 0) out["batch"] = point.batch;
  if (!point.is_gap()) {
    out["samples_per_s"] = point.samples_per_s.median();
    out["min"] = point.samples_per_s.least();
    out["max"] = point.samples_per_s.most();
    out["step_us"] = point.step_us.median();
    out["rank_hours_per_million_samples"] = point.rank_hours_per_million;
  }
  if (point.efficiency) {
    out["efficiency"] = point.efficiency->value;
    out["efficiency_min"] = point.efficiency->least;
    out["efficiency_max"] = point.efficiency->most;
  }
  if (point.exposed_us >= 0) out["exposed_us"] = point.exposed_us;
  if (point.exposed_share >= 0) out["exposed_share"] = point.exposed_share;
  if (!point.to_target) return out;
  const ToTarget& to = *point.to_target;
  const auto known = [](double value) { return value < 0 ? Json() : Json(value); };
  out["to_target"] = {{"s", known(to.time_s)},
                      {"samples", known(to.samples)},
                      {"rank_hours", known(to.rank_hours)},
                      {"reached", to.reached},
                      {"of", to.of}};
  if (point.run_rank_hours >= 0) out["run_rank_hours"] = point.run_rank_hours;
  return out;
}

Json parts_json(const ScalingParts& parts, std::int64_t ranks) {
  return {{"ranks", ranks},
          {"ideal_us", parts.ideal_us},
          {"beside_us", parts.beside.time_us},
          {"comm_us", parts.comm.time_us},
          {"data_us", parts.data.time_us},
          {"beside_is_noise", parts.beside.is_noise},
          {"comm_is_noise", parts.comm.is_noise},
          {"data_is_noise", parts.data.is_noise}};
}

}  // namespace

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
  if (has_target(result)) out.protocol.push_back(target_sentence(result));
  out.protocol.push_back(place_sentence(result));
  if (const std::string crowd = crowd_sentence(result); !crowd.empty()) out.protocol.push_back(crowd);
  const std::vector<std::string>& notes = result.scaling.notes;
  out.protocol.insert(out.protocol.end(), notes.begin(), notes.end());
  return out;
}

Report scaling_report(const ScaleResult& result) {
  Report out;
  const Scaling& scaling = result.scaling;
  out.line(result.caption.title + " (" + result.caption.subtitle + ")");
  std::vector<TableRow> rows = {head_of(result)};
  for (const ScalingLine line : scaling.lines()) {
    for (const std::int64_t ranks : scaling.ranks()) {
      if (const ScalingFigures* const point = scaling.find(line, ranks))
        rows.push_back(row_of(*point, has_target(result)));
    }
  }
  out.table(rows);
  Json points = Json::array();
  for (std::size_t i = 0; i < scaling.points.size(); ++i)
    points.push_back(point_json(scaling.points[i], result.runs.points()[i]));
  Json parts = Json::array();
  for (const std::int64_t ranks : scaling.ranks()) {
    const auto at = step_parts(scaling, ranks);
    if (!at) continue;
    if (ranks > scaling.base_ranks) out.wrapped(parts_sentence(*at, result, ranks), kScaleColumns);
    parts.push_back(parts_json(*at, ranks));
  }
  for (const std::string& sentence : result.caption.protocol) out.wrapped(sentence, kScaleColumns);
  if (!result.svg.empty()) out.line("  picture: " + result.svg.string());
  add_end(out, result.runs, "point and repeat");
  const MeasureArguments& measure = result.arguments.measure;
  out.json = head_json("scale", measure.lesson.name, measure.steps, result.runs, measure);
  out.json["law"] = law_name(result.arguments.law);
  out.json["machine"] = machine_of(result);
  out.json["threads_per_rank"] = result.plan.threads;
  out.json["processors"] = result.arguments.as_jobs ? Json() : Json(result.plan.processors);
  out.json["base_ranks"] = scaling.base_ranks;
  out.json["target_loss"] = has_target(result) ? Json(result.arguments.target_loss) : Json();
  out.json["protocol"] = result.caption.protocol;
  out.json["notes"] = scaling.notes;
  out.json["svg"] = result.svg.empty() ? Json() : Json(result.svg.string());
  out.json["points"] = points;
  out.json["parts"] = parts;
  return out;
}

}  // namespace isobar
