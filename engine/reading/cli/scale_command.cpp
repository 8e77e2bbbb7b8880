#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/scale_caption.h"
#include "cli/shared_options.h"
#include "plot/scaling_picture.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kScaleColumns = 110;

std::string number_text(const std::optional<double>& value, const char* unit = "") {
  return value ? fmt::format("{:.3g}{}", *value, unit) : "-";
}

void add_target(Row& out, const ScalingFigures& point, const ScaleArguments& arguments) {
  const ToTarget& to = *point.to_target;
  out.cell(fmt::format("s to {:g}", arguments.target_loss),
           to.time_s ? fmt::format("{:.1f}", *to.time_s) : "-");
  out.cell("samples", to.samples ? value_text(Quantity::count, std::round(*to.samples)) : "-");
  out.cell("rank-h", number_text(to.rank_hours));
  const std::optional<double> s = to.time_s;
  out.json["to_target"] = ISOBAR_NAMED(s, to.samples, to.rank_hours, to.reached, to.of);
  if (arguments.watts > 0) {
    const std::optional<double> watt_hours =
        to.rank_hours ? std::optional(*to.rank_hours * arguments.watts) : std::nullopt;
    out.cell("Wh", number_text(watt_hours));
    add_members(out.json["to_target"], ISOBAR_NAMED(watt_hours));
  }
  out.cell("reached by", fmt::format("{} of {}", to.reached, to.of));
  out.add("speedup_samples", "x samples/s", number_text(point.speedup_samples), point.speedup_samples);
  out.add("speedup_target", "x to target", number_text(point.speedup_target), point.speedup_target);
}

Row row_of(const ScalingFigures& point, const MeasuredPoint& measured, const ScaleArguments& arguments) {
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
  if (point.to_target) add_target(out, point, arguments);
  if (point.to_target && point.run_rank_hours) out.json["run_rank_hours"] = *point.run_rank_hours;
  return out;
}

Row simulated_row(const SimulatedPoint& point, bool has_shared) {
  Row out;
  const StepTerms& terms = point.terms;
  out.add("ranks", "ranks", std::to_string(point.ranks), point.ranks);
  if (has_shared) out.cell("processors", point.shares_processors ? "shared" : "own");
  out.json["shares_processors"] = point.shares_processors;
  out.add("batch", "batch", fmt::format("{:g}", point.batch), point.batch);
  out.add("samples_per_s", "samples/s", Quantity::rate, point.samples_per_s);
  out.add("efficiency", "efficiency", Quantity::share, point.efficiency);
  out.add("step_us", "step ms", Quantity::time, terms.step_us());
  out.add("comm_us", "comm ms", Quantity::time, terms.comm_us);
  out.add("jitter_us", "jitter ms", Quantity::time, terms.jitter_us);
  out.add("error", "off measured", point.error ? fmt::format("{:+.1f} %", 100 * *point.error) : "-",
          point.error);
  for (const auto& [name, us] : terms.named()) out.json["terms_us"][name] = us;
  return out;
}

void add_simulated(Report& out, const SimulatedScaling& simulated) {
  out.json["simulated"] = Json::array();
  if (simulated.empty()) return;
  out.line("  simulated, not measured:");
  const bool has_shared = std::ranges::any_of(simulated.points, &SimulatedPoint::shares_processors);
  std::vector<Row> rows;
  for (const SimulatedPoint& point : simulated.points)
    if (&point != &simulated.points.front()) rows.push_back(simulated_row(point, has_shared));
  out.rows("simulated", rows, 0);
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

Json parts_json(const ScalingParts& parts, std::int64_t ranks) {
  Json out = ISOBAR_NAMED(ranks, parts.ideal_us);
  const std::pair<std::string, const StepPart*> named[] = {
      {"beside", &parts.beside}, {"comm", &parts.comm}, {"data", &parts.data}};
  for (const auto& [name, part] : named) out[name + "_us"] = part->time_us;
  for (const auto& [name, part] : named) out[name + "_is_noise"] = part->is_noise;
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
      if (point.line == line) rows.push_back(row_of(point, measured, result.arguments));
    }
  }
  out.rows("points", rows);
  add_simulated(out, result.simulated);
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
  const std::string text = draw_scaling(result.scaling, result.simulated, result.caption);
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
  result.simulated = simulated_beyond(result);
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
