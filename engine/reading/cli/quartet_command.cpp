#include <fmt/format.h>

#include <cstdio>

#include "analyse/verdict.h"
#include "cli/commands.h"
#include "cli/lesson_options.h"
#include "cli/measured_runs.h"
#include "config/lesson.h"
#include "core/files.h"
#include "core/text.h"
#include "formula/model_shape.h"
#include "formula/vit_counts.h"

namespace isobar {

namespace {

constexpr std::array<const char*, 4> kCases = {"IO", "SYNTHETIC", "FULL", "NO-COMM"};

/// The last one only where several ranks train together.
std::vector<MeasuredPoint> cases(const MeasureArguments& arguments) {
  std::vector<MeasuredPoint> out = {{.name = "io", .sets = {"run.measure=io"}},
                                    {.name = "synthetic", .sets = {"run.measure=synthetic"}},
                                    {.name = "full", .sets = {"run.measure=full"}}};
  if (load_here(arguments.lesson, arguments.settings).config.run.ranks > 1)
    out.push_back({.name = "no_comm", .sets = {"run.measure=synthetic", "comm.sync=none"}});
  return out;
}

double attention_share(const Config& config) {
  const VitShape shape = vit_shape(config);
  return 3 * count_forward_flops(shape).attention / training_flops(shape);
}

QuartetFigures figures_of(const MeasuredRuns& runs) {
  const std::vector<MeasuredPoint>& points = runs.points();
  const Config& config = runs.config(2).config;
  QuartetFigures out = quartet_figures(points[0].repeats, points[1].repeats, points[2].repeats,
                                       points.size() > 3 ? points[3].repeats : Repeats());
  // A loader with workers of its own reads ahead; with 0 of them the training loop reads.
  out.reads_ahead = config.loader.kind != LoaderKind::in_line && config.data.workers > 0;
  out.attention_share = attention_share(config);
  return out;
}

Row case_row(const MeasuredPoint& point, const char* name) {
  Row out;
  out.add("case", "case", name, name);
  point.add_to(out);
  for (const auto& [head, field] : {std::pair{"step ms", "step_us"},
                                    {"load ms", "load_us"},
                                    {"copy ms", "copy_us"},
                                    {"comm ms", "comm_us"}})
    out.cell(head, known_text(Quantity::time, point.field(field)));
  out.json["trials"] = out.json["means"] = {};
  for (const SteadyFigures& one : point.repeats) out.json["trials"].push_back(one.samples_per_s);
  for (const auto& [field, value] : point.repeats.front().means) {
    if (field.ends_with("_us")) out.json["means"][field] = point.field(field);
  }
  return out;
}

Report report_of(const MeasuredRuns& runs, const MeasureArguments& arguments, const Verdict& verdict,
                 const QuartetFigures& figures, const std::string& next) {
  Report out;
  const Config& config = runs.config(2).config;
  out.json =
      head_json("quartet", arguments.lesson.name, config.train.steps - kMeasureWarmUpSteps, runs, arguments);
  out.json["ranks"] = config.run.ranks;
  out.json["trials"] = arguments.repeats;
  out.line("quartet of " + measured_what(runs, arguments, "trial"));
  std::vector<Row> rows;
  for (const MeasuredPoint& point : runs.points()) rows.push_back(case_row(point, kCases[rows.size()]));
  out.rows("cases", rows);
  out.line(fmt::format("verdict: {}", bound_name(verdict.bound)));
  out.wrapped(verdict.sentence);
  for (const std::string& line : verdict.evidence) out.wrapped(line);
  add_end(out, runs, "trial");
  out.line("next: " + next);
  out.json["verdict"] = bound_name(verdict.bound);
  out.json["straggler"] = verdict.straggler < 0 ? Json() : Json(verdict.straggler);
  out.json["sentence"] = verdict.sentence;
  out.json["evidence"] = verdict.evidence;
  out.json["mfu"] = number_or_null(figures.mfu);
  out.json["predicted_attention_share"] = figures.attention_share;
  out.json["next"] = next;
  return out;
}

}  // namespace

int quartet_command(const Words& words) {
  const std::optional<MeasureArguments> parsed = parse_measure_arguments(words, /*is_sweep=*/false);
  if (!parsed) return 0;
  const MeasureArguments& arguments = *parsed;
  MeasuredRuns runs({.command = "quartet", .arguments = arguments}, cases(arguments));
  if (const int code = runs.run(); code != 0) return code;
  const QuartetFigures figures = figures_of(runs);
  const Verdict verdict = judge_quartet(figures);
  const std::string next =
      next_command(verdict, {.lesson = arguments.lesson.name,
                             .lessons = lesson_names(project_home()),
                             .honours = arguments.lesson.honours,
                             .full_run = shell_quoted(runs.points()[2].runs.front().string()),
                             .words = [&](const std::string& lesson, const std::string& varied) {
                               return arguments.settings_text(lesson, varied);
                             }});
  report_of(runs, arguments, verdict, figures, next).print(arguments.json);
  return 0;
}

}  // namespace isobar
