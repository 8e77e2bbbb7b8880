// `sweep` and `quartet`: some settings of a lesson in turn, which is fastest, and what limits it.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/steady.h"
#include "analyse/verdict.h"
#include "cli/commands.h"
#include "cli/measured_runs.h"
#include "cli/shared_options.h"
#include "formula/model_shape.h"

namespace isobar {

namespace {

/// All combinations; the last key varies fastest.
std::vector<MeasuredPoint> grid_of(const std::vector<SweepAxis>& axes) {
  std::vector<MeasuredPoint> points = {{.name = "", .sets = {}}};
  for (const SweepAxis& axis : axes) {
    if (points.size() * axis.values.size() > kMostPoints) {
      throw Error(fmt::format("the grid has more than {} points", kMostPoints), "./isobar sweep",
                  "fewer keys, or fewer values of each");
    }
    std::vector<MeasuredPoint> next;
    for (const MeasuredPoint& point : points) {
      for (const std::string& value : axis.values) {
        MeasuredPoint more = point;
        more.sets.push_back(axis.key + "=" + value);
        more.name += (more.name.empty() ? "" : " ") + axis.key + "=" + value;
        next.push_back(std::move(more));
      }
    }
    points = std::move(next);
  }
  return points;
}

/// For each point: "*" for the best, "=" for one that is the same, "?" for one that few repeats cannot
/// distinguish from it, " " else. Without points (figures that are no rates) few repeats decide nothing.
std::vector<std::string> best_marks(const std::vector<MeasuredPoint>& points,
                                    const std::vector<Spread>& figures, bool more_is_better) {
  std::size_t best = figures.size();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (figures[i].empty()) continue;
    const bool first = best == figures.size();
    if (first || (more_is_better ? figures[i].median() > figures[best].median()
                                 : figures[i].median() < figures[best].median())) {
      best = i;
    }
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double apart =
        points.empty() || best == figures.size() ? 0 : far_apart(points[i].repeats, points[best].repeats);
    const std::optional<Compared> found =
        figures[i].empty() || i == best ? std::nullopt : compare(figures[i], figures[best], apart);
    out.emplace_back(i == best                                         ? "*"
                     : found && found->is_same()                       ? "="
                     : found && found->direction == Direction::unknown ? "?"
                                                                       : " ");
  }
  return out;
}

struct Results {
  std::vector<Spread> rates, rmse;
  std::vector<std::string> rate_marks, rmse_marks;
  double best_rate = 0;
  std::string headline;  ///< "" when nothing was scored

  explicit Results(const std::vector<MeasuredPoint>& points) {
    for (const MeasuredPoint& point : points) {
      rates.push_back(point.rate());
      best_rate = std::max(best_rate, rates.back().median());
      const bool scored = !point.repeats.empty() && point.repeats.front().view.summary.has_scores;
      if (scored) headline = point.repeats.front().view.summary.headline;
      rmse.push_back(scored ? point.figures(&RunSummary::rmse) : Spread());
    }
    rate_marks = best_marks(points, rates, /*more_is_better=*/true);
    rmse_marks = best_marks({}, rmse, /*more_is_better=*/false);
  }
};

Json keys_json(const MeasuredPoint& point) {
  Json out = Json::object();
  for (const std::string& set : point.sets) out[key_of(set)] = set.substr(set.find('=') + 1);
  return out;
}

Row grid_row(const MeasuredPoint& point, std::size_t i, const Results& results,
             std::optional<std::int64_t> steps) {
  Row out;
  for (const std::string& set : point.sets)
    out.cell(key_of(set), printable(set.substr(set.find('=') + 1), 60));
  out.json["keys"] = keys_json(point);
  if (steps) out.json["steps"] = *steps;
  point.add_to(out, " " + results.rate_marks[i]);
  if (point.repeats.empty()) return out.end(first_line(point.failure, "stopped"));
  if (const Spread& rate = results.rates[i]; !rate.empty()) {
    out.cell("of best", value_text(Quantity::share, rate.median() / results.best_rate));
    out.json["best"] = results.rate_marks[i] == "*";
    out.json["same_as_best"] = results.rate_marks[i] == "*" || results.rate_marks[i] == "=";
  }
  for (const Figure* const figure : figures_in(FigureTable::runs)) {
    if (figure != figures_in(FigureTable::runs).front()) add_to(out, *figure, point.repeats);
  }
  out.add("load_us", "load ms", Quantity::time, point.field("load_us"));
  out.add("stall_share", "stall", Quantity::share, point.share("stall_us"));
  if (has_comm(point.repeats)) {
    add_figures(out.json["comm"], FigureTable::comm, point.repeats);
    for (const Figure* const figure : figures_in(FigureTable::comm))
      out.cell({figure->head, figure->worth}, figure_cell(*figure, point.repeats));
  }
  if (const Spread& rmse = results.rmse[i]; !rmse.empty()) {
    out.add("rmse_" + results.headline, results.headline + " RMSE",
            value_text(Quantity::score, rmse.median()) + " " + results.rmse_marks[i], rmse.median());
    out.json["best_rmse"] = results.rmse_marks[i] == "*";
  }
  return out;
}

void add_grid(Report& out, const MeasuredRuns& runs, const MeasureArguments& arguments,
              const Results& results) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < runs.points().size(); ++i) {
    // Whole rounds of the workers: more than were asked for, and not the same for every point.
    std::optional<std::int64_t> steps;
    if (!arguments.whole) steps = runs.config(i).config.train.steps - kMeasureWarmUpSteps;
    rows.push_back(grid_row(runs.points()[i], i, results, steps));
  }
  out.rows("points", rows, arguments.axes.size());
  out.line(
      static_cast<std::size_t>(arguments.repeats) >= kLeastRepeats
          ? "  * the best, = the same as the best (95 % interval of the ratio holds 1, or within 2 %)"
          : fmt::format("  * the best, ? fewer than {0} repeats cannot tell it from the best: --repeats {0}",
                        kLeastRepeats));
}

/// An ablation: what each of some settings is worth by itself, against a base that has the first value of
/// all.
std::string setting(const SweepAxis& axis, std::size_t value) { return axis.key + "=" + axis.values[value]; }

MeasuredPoint point_with(const std::vector<SweepAxis>& axes, std::size_t axis, std::size_t value) {
  MeasuredPoint out;
  out.name = value == 0 ? "base" : setting(axes[axis], value);
  for (std::size_t i = 0; i < axes.size(); ++i) out.sets.push_back(setting(axes[i], i == axis ? value : 0));
  return out;
}

struct Counted {
  const char* field;
  const char* title;
  double scale;
  int digits;
};

// Counted in the step that is watched, not in every one.
constexpr Counted kCounted[] = {{"launches", "launches", 1, 0}, {"moved_bytes", "moved MB", 1e-6, 1}};

/// "1016 (-484)": the figure and what the base has more or less.
std::string counted_text(const MeasuredPoint& point, const MeasuredPoint& base, const Counted& what) {
  const std::optional<double> here = point.last(what.field), before = base.last(what.field);
  if (!here) return "-";
  const std::string text = fmt::format("{:.{}f}", *here * what.scale, what.digits);
  if (!before || &point == &base) return text;
  return text + fmt::format(" ({:+.{}f})", (*here - *before) * what.scale, what.digits);
}

std::string versus_base(const Compared& found) {
  return ratio_text(found) + (found.direction == Direction::more   ? " faster"
                              : found.direction == Direction::less ? " slower"
                                                                   : "");
}

Row one_off_row(const MeasuredPoint& point, const MeasuredPoint& base) {
  Row out;
  out.add("point", "one value changed", printable(point.name, 60), point.name);
  out.json["keys"] = keys_json(point);
  point.add_to(out);
  if (point.rate().empty()) return out.end(first_line(point.failure, "stopped"));
  const bool is_base = &point == &base;
  const std::optional<Compared> compared =
      compare(point.rate(), base.rate(), far_apart(point.repeats, base.repeats));
  out.cell("of base", is_base ? "base" : compared ? versus_base(*compared) : "-");
  if (compared) {
    isobar::add_to(out.json, *compared);
    out.json["same_as_base"] = is_base || compared->is_same();
  }
  out.add("step_us", "step ms", Quantity::time, point.field("step_us"));
  for (const Counted& what : kCounted) {
    out.add(what.field, what.title, counted_text(point, base, what), point.last(what.field));
  }
  return out;
}

/// The base; each other value of each key alone; and, where there are several keys, all second values
/// together. Every key has at least two values.
std::vector<MeasuredPoint> one_off_points(const std::vector<SweepAxis>& axes) {
  std::vector<MeasuredPoint> points = {point_with(axes, 0, 0)};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    for (std::size_t value = 1; value < axes[axis].values.size(); ++value)
      points.push_back(point_with(axes, axis, value));
  }
  if (axes.size() > 1) {
    MeasuredPoint all{.name = "all second values", .sets = {}};
    for (const SweepAxis& axis : axes) all.sets.push_back(setting(axis, 1));
    points.push_back(all);
  }
  if (points.size() > kMostPoints)
    throw Error(fmt::format("there are more than {} points", kMostPoints), "./isobar sweep --one-off",
                "fewer keys, or fewer values of each");
  return points;
}

void add_one_off(Report& out, const MeasuredRuns& runs, const MeasureArguments& arguments) {
  std::vector<Row> rows;
  for (const MeasuredPoint& point : runs.points()) rows.push_back(one_off_row(point, runs.points().front()));
  out.json["one_off"] = true;
  out.rows("points", rows);
  std::vector<std::string> base;
  for (const SweepAxis& axis : arguments.axes) base.push_back(setting(axis, 0));
  out.line("  base: " + printable(joined(base, " "), 400));
  out.line(
      "  ± half of the 95 % interval; same: it holds 1, or less than 2 % apart; about: few repeats, far "
      "apart; in brackets: more or less");
}

}  // namespace

int sweep_command(const Words& words) {
  const std::optional<MeasureArguments> parsed = parse_measure_arguments(words, /*is_sweep=*/true);
  if (!parsed) return 0;
  const MeasureArguments& arguments = *parsed;
  MeasuredRuns runs({.command = "sweep", .arguments = arguments, .stop_at_failure = false},
                    arguments.one_off ? one_off_points(arguments.axes) : grid_of(arguments.axes));
  const int code = runs.run();
  const Results results(runs.points());
  if (results.best_rate == 0 && (arguments.one_off || results.headline.empty())) return code;
  Report out;
  out.json = head_json("sweep", arguments.lesson.name, arguments.whole ? Json() : Json(arguments.steps), runs,
                       arguments);
  out.line((arguments.one_off ? "one-off sweep of " : "sweep of ") +
           measured_what(runs, arguments, "repeat"));
  if (arguments.one_off) {
    add_one_off(out, runs, arguments);
  } else {
    add_grid(out, runs, arguments, results);
  }
  add_end(out, runs, "point and repeat");
  out.print(arguments.json);
  return code;
}

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

QuartetFigures figures_of(const MeasuredRuns& runs) {
  const std::vector<MeasuredPoint>& points = runs.points();
  const Config& config = runs.config(2).config;
  QuartetFigures out = quartet_figures(points[0].repeats, points[1].repeats, points[2].repeats,
                                       points.size() > 3 ? points[3].repeats : Repeats());
  // A loader with workers of its own reads ahead; with 0 of them the training loop reads.
  out.reads_ahead = config.loader.kind != LoaderKind::in_line && config.data.workers > 0;
  out.attention_share = attention_flops(config) / sample_flops(config);
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
    out.cell(head, value_text(Quantity::time, point.field(field)));
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
  const std::optional<double> predicted_attention_share = figures.attention_share;
  add_members(out.json,
              ISOBAR_NAMED(verdict.sentence, verdict.evidence, figures.mfu, predicted_attention_share, next));
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
  LessonsHere lessons;
  for (const std::string& name : lesson_names(project_home()))
    lessons[name] = read_lesson(project_home(), name).helps;
  const std::string next =
      next_command(verdict, {.lesson = arguments.lesson.name,
                             .lessons = lessons,
                             .honours = arguments.lesson.honours,
                             .full_run = shell_quoted(runs.points()[2].runs.front().string()),
                             .words = [&](const std::string& lesson, const std::string& varied) {
                               return arguments.settings_text(lesson, varied);
                             }});
  report_of(runs, arguments, verdict, figures, next).print(arguments.json);
  return 0;
}

}  // namespace isobar
