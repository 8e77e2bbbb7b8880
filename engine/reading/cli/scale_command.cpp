#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/scale_arguments.h"
#include "cli/scale_jobs.h"
#include "cli/scale_text.h"
#include "cli/start.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

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

bool has_rate(const Scaling& scaling) {
  for (const ScalingFigures& point : scaling.points) {
    if (!point.is_gap()) return true;
  }
  return false;
}

/// Where the picture lies.
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
    if (has_rate(result.scaling)) result.svg = write_picture(result);
  } catch (const Error& error) {
    unwritten = error;
  }
  scaling_report(result).print(arguments.measure.json);
  if (unwritten) throw Error(*unwritten);
  return code;
}

}  // namespace isobar
