#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/scale_arguments.h"
#include "cli/shared_options.h"
#include "log/run_files.h"
#include "plot/scaling_picture.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kScaleColumns = 110;

/// What was measured, with all that stands beside it.
struct ScaleResult {
  const ScaleArguments& arguments;
  const ScalePlan& plan;
  const MeasuredRuns& runs;  ///< runs of the plan's points
  Scaling scaling;
  ScalingCaption caption = {};
  std::filesystem::path svg = {};  ///< "" = the picture could not be written
};

bool has_target(const ScaleResult& result) { return result.arguments.target_loss > 0; }

void add_target(Row& out, const ToTarget& to, double loss) {
  out.cell(fmt::format("s to {:g}", loss), to.time_s ? fmt::format("{:.1f}", *to.time_s) : "-");
  out.cell("samples", to.samples ? value_text(Quantity::count, std::round(*to.samples)) : "-");
  out.cell("rank-h", to.rank_hours ? fmt::format("{:.3g}", *to.rank_hours) : "-");
  out.cell("reached by", fmt::format("{} of {}", to.reached, to.of));
  const std::optional<double> s = to.time_s;
  out.json["to_target"] = ISOBAR_NAMED(s, to.samples, to.rank_hours, to.reached, to.of);
}

Row row_of(const ScalingFigures& point, const MeasuredPoint& measured, double target_loss) {
  Row out;
  out.add("line", "line", line_name(point.line), line_name(point.line));
  out.add("ranks", "ranks", std::to_string(point.ranks), point.ranks);
  out.json["runs"] = measured.folders_json();
  if (!point.missing.empty()) out.json["missing"] = point.missing;
  if (point.batch > 0) out.add("batch", "batch", fmt::format("{:g}", point.batch), point.batch);
  if (point.is_gap()) return out;
  const Spread& rate = point.samples_per_s;
  out.add("samples_per_s", "samples/s", spread_text(Quantity::rate, rate), rate.median());
  out.json["min"] = rate.least();
  out.json["max"] = rate.most();
  if (const auto& found = point.efficiency) {
    const bool repeats = rate.values.size() > 1;  // one run has no spread
    out.add("efficiency", "efficiency",
            repeats ? range_text(Quantity::share, found->value, found->least, found->most)
                    : value_text(Quantity::share, found->value),
            found->value);
    out.json["efficiency_min"] = found->least;
    out.json["efficiency_max"] = found->most;
  }
  out.add("step_us", "step ms", Quantity::time, point.step_us.median());
  out.add("exposed_us", "exposed ms", Quantity::time, point.exposed_us);
  out.add("exposed_share", "of step", Quantity::share, point.exposed_share);
  out.add("rank_hours_per_million_samples", "rank-h/M",
          fmt::format("{:.3g}", point.rank_hours_per_million.value_or(0)), point.rank_hours_per_million);
  if (point.to_target) add_target(out, *point.to_target, target_loss);
  if (point.to_target && point.run_rank_hours) out.json["run_rank_hours"] = *point.run_rank_hours;
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

std::string law_sentence(const ScaleResult& result) {
  const std::int64_t base = result.scaling.base_ranks;
  const std::int64_t batch =
      result.runs.config(0).config.train.global_batch;  // the batch of the fewest ranks
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
  if (result.arguments.as_jobs || result.runs.config(0).config.run.device.rfind("cuda", 0) == 0) return "";
  std::vector<std::int64_t> crowded;
  for (const std::int64_t ranks : result.arguments.ranks) {
    if (ranks * result.plan.threads > result.plan.processors) crowded.push_back(ranks);
  }
  if (crowded.empty()) return "";
  return fmt::format("{} ranks of {} share {}: what is lost there is no measure of a network.",
                     joined(crowded), counted(result.plan.threads, "thread"),
                     counted(result.plan.processors, "processor"));
}

Json parts_json(const ScalingParts& parts, std::int64_t ranks) {
  Json out = ISOBAR_NAMED(ranks, parts.ideal_us);
  const std::pair<std::string, const StepPart*> named[] = {
      {"beside", &parts.beside}, {"comm", &parts.comm}, {"data", &parts.data}};
  for (const auto& [name, part] : named) out[name + "_us"] = part->time_us;
  for (const auto& [name, part] : named) out[name + "_is_noise"] = part->is_noise;
  return out;
}

/// Title, where it was measured, and how: what is printed under the table and under the plots.
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
  const MeasureArguments& measure = result.arguments.measure;
  const Scaling& scaling = result.scaling;
  Report out;
  out.json = head_json("scale", measure.lesson.name, measure.steps, result.runs, measure);
  out.json["law"] = law_name(result.arguments.law);
  out.json["machine"] = machine_of(result);
  out.json["threads_per_rank"] = result.plan.threads;
  out.json["processors"] = result.arguments.as_jobs ? Json() : Json(result.plan.processors);
  out.json["base_ranks"] = scaling.base_ranks;
  out.json["target_loss"] = number_or_null(result.arguments.target_loss);
  add_members(out.json, ISOBAR_NAMED(result.caption.protocol, scaling.notes));
  out.json["svg"] = result.svg.empty() ? Json() : Json(result.svg.string());
  out.line(result.caption.title + " (" + result.caption.subtitle + ")");
  std::vector<Row> rows;
  for (const ScalingLine line : scaling.lines()) {
    for (const ScalingFigures& point : scaling.points) {
      const MeasuredPoint& measured =
          result.runs.points()[static_cast<std::size_t>(&point - scaling.points.data())];
      if (point.line == line) rows.push_back(row_of(point, measured, result.arguments.target_loss));
    }
  }
  out.rows("points", rows);
  out.json["parts"] = Json::array();
  for (const std::int64_t ranks : scaling.ranks()) {
    const auto at = step_parts(scaling, ranks);
    if (!at) continue;
    if (ranks > scaling.base_ranks) out.wrapped(parts_sentence(*at, result, ranks), kScaleColumns);
    out.json["parts"].push_back(parts_json(*at, ranks));
  }
  for (const std::string& sentence : result.caption.protocol) out.wrapped(sentence, kScaleColumns);
  if (!result.svg.empty()) out.line("  picture: " + result.svg.string());
  add_end(out, result.runs, "point and repeat");
  return out;
}

/// Why a point has fewer repeats than were asked for; "" = it has all.
std::string missing_of(const MeasuredPoint& point, std::int64_t repeats) {
  if (static_cast<std::int64_t>(point.repeats.size()) == repeats) return "";
  return first_line(point.failure, "stopped before the end", 200);
}

Scaling judge(const ScaleArguments& arguments, const ScalePlan& plan, const MeasuredRuns& runs) {
  std::vector<ScalingPoint> points = plan.measured;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredPoint& measured = runs.points()[i];
    for (const SteadyFigures& one : measured.repeats) points[i].runs.push_back(scaling_run(one));
    points[i].missing = missing_of(measured, arguments.measure.repeats);
  }
  return judge_scaling(arguments.law, points, arguments.target_loss);
}

fs::path write_picture(const ScaleResult& result) {
  const std::string text = draw_scaling(result.scaling, result.caption);
  const NamedFile& file = result.arguments.svg;
  if (file.path.empty()) return write_in_group(result.runs, "scaling.svg", text);
  write_named_file(file, text);
  return file.path;
}

}  // namespace

int scale_command(const Words& words) {
  const std::optional<ScaleArguments> parsed = parse_scale_arguments(words);
  if (!parsed) return 0;
  const ScaleArguments& arguments = *parsed;
  const ScalePlan plan = plan_of(arguments);
  if (arguments.as_jobs) {
    for (const std::int64_t ranks : arguments.ranks)
      settings_for(arguments.job, ranks);  // before any is submitted
    check_job_device(arguments.measure.lesson, arguments.job);
    check_job_program(arguments.measure.lesson, arguments.job, program_folder());
  }
  MeasuredRuns runs({.command = "scale",
                     .arguments = arguments.measure,
                     .stop_at_failure = false,
                     .start = arguments.as_jobs ? start_as_jobs(arguments.job) : StartRun(start_here),
                     .elsewhere = arguments.as_jobs},
                    plan.points);
  const int code = runs.run();
  ScaleResult result{
      .arguments = arguments, .plan = plan, .runs = runs, .scaling = judge(arguments, plan, runs)};
  if (runs.first_view() == nullptr) return code;
  result.caption = caption_of(result);
  std::optional<Error> unwritten;  // the table is worth more than the picture
  try {
    if (!std::ranges::all_of(result.scaling.points, &ScalingFigures::is_gap))
      result.svg = write_picture(result);
  } catch (const Error& error) {
    unwritten = error;
  }
  scaling_report(result).print(arguments.measure.json);
  if (unwritten) throw Error(*unwritten);
  return code;
}

}  // namespace isobar
