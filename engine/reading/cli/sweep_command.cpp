#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "analyse/figure.h"
#include "cli/commands.h"
#include "cli/measured_runs.h"
#include "cli/one_off.h"
#include "core/error.h"
#include "core/text.h"

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

/// For each point: "*" for the best, "=" for one that is the same, "?" for one that few repeats cannot tell
/// from it, " " else. Without points (figures that are no rates) few repeats tell nothing.
std::vector<std::string> marks_of(const std::vector<MeasuredPoint>& points,
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

/// What the table and the JSON object hold, worked out once.
struct Results {
  std::vector<Spread> rates, rmse;
  std::vector<std::string> rate_marks, rmse_marks;
  double best_rate = 0;
  bool has_stalls = false;
  std::vector<const Figure*> figures, comm;  ///< that a point reports; the first is the rate
  std::string headline;                      ///< "" when nothing was scored

  explicit Results(const std::vector<MeasuredPoint>& points) {
    std::vector<const Repeats*> repeats;
    bool talks = false;
    for (const MeasuredPoint& point : points) {
      repeats.push_back(&point.repeats);
      rates.push_back(point.rate());
      best_rate = std::max(best_rate, rates.back().median());
      has_stalls = has_stalls || point.share("stall_us") >= 0;
      talks = talks || has_comm(point.repeats);
      const bool scored = !point.repeats.empty() && point.repeats.front().view.summary.has_scores;
      if (scored) headline = point.repeats.front().view.summary.headline;
      rmse.push_back(scored ? point.figures(&RunSummary::rmse) : Spread());
    }
    rate_marks = marks_of(points, rates, /*more_is_better=*/true);
    rmse_marks = marks_of({}, rmse, /*more_is_better=*/false);
    figures = reported_in(FigureTable::runs, repeats);
    if (talks) comm = figures_in(FigureTable::comm);
  }
};

Table table_of(const std::vector<SweepAxis>& axes, const Results& results) {
  Table out = {.left = 0};
  for (const SweepAxis& axis : axes) out.columns.push_back(axis.key);
  for (const char* const head : {"samples/s", "", "min .. max", "of best"}) out.columns.push_back(head);
  for (std::size_t i = 1; i < results.figures.size(); ++i)
    out.columns.emplace_back(results.figures[i]->head, results.figures[i]->worth);
  out.columns.push_back("load ms");
  if (results.has_stalls) out.columns.push_back("stall");
  for (const Figure* const one : results.comm) out.columns.emplace_back(one->head, one->worth);
  if (!results.headline.empty()) {
    out.columns.push_back(results.headline + " RMSE");
    out.columns.push_back("");
  }
  return out;
}

TableRow row_of(const MeasuredPoint& point, std::size_t i, const Results& results) {
  TableRow out;
  for (const std::string& set : point.sets) out.push_back(printable(set.substr(set.find('=') + 1), 60));
  const Spread& rate = results.rates[i];
  if (point.repeats.empty()) {
    out.push_back(first_line(point.failure, "stopped"));
    return out;
  }
  if (rate.empty()) {
    out.insert(out.end(), {"-", results.rate_marks[i], "-", "-"});
  } else {
    const auto text = [](double value) { return value_text(Quantity::rate, value); };
    out.insert(out.end(),
               {text(rate.median()), results.rate_marks[i], text(rate.least()) + " .. " + text(rate.most()),
                value_text(Quantity::share, rate.median() / results.best_rate)});
  }
  for (std::size_t f = 1; f < results.figures.size(); ++f)
    out.push_back(figure_cell(*results.figures[f], point.repeats));
  out.push_back(milliseconds(point.field("load_us")));
  if (results.has_stalls) {
    const double stall = point.share("stall_us");
    out.push_back(stall < 0 ? "-" : value_text(Quantity::share, stall));
  }
  for (const Figure* const one : results.comm) out.push_back(figure_cell(*one, point.repeats));
  if (!results.headline.empty())
    out.insert(out.end(), {value_text(Quantity::score, results.rmse[i].median()), results.rmse_marks[i]});
  return out;
}

Json point_json(const MeasuredPoint& point, std::size_t i, const Results& results,
                std::optional<std::int64_t> steps) {
  Json out = {{"keys", keys_json(point)}};
  point.add_to(out, steps);
  if (!results.rates[i].empty()) {
    out["best"] = results.rate_marks[i] == "*";
    out["same_as_best"] = results.rate_marks[i] == "*" || results.rate_marks[i] == "=";
    for (std::size_t f = 1; f < results.figures.size(); ++f)
      out[results.figures[f]->name] = figure_json(*results.figures[f], point.repeats);
    out["load_us"] = point.field("load_us");
    if (point.share("stall_us") >= 0) out["stall_share"] = point.share("stall_us");
    if (has_comm(point.repeats)) add_figures(out["comm"], FigureTable::comm, point.repeats);
  }
  if (!results.rmse[i].empty()) {
    out["rmse_" + results.headline] = results.rmse[i].median();
    out["best_rmse"] = results.rmse_marks[i] == "*";
  }
  return out;
}

Report report_of(const MeasuredRuns& runs, const MeasureArguments& arguments, const Results& results) {
  Report out;
  out.line("sweep of " + measured_what(runs, arguments, "repeat"));
  Table table = table_of(arguments.axes, results);
  Json points = Json::array();
  for (std::size_t i = 0; i < runs.points().size(); ++i) {
    table.add(row_of(runs.points()[i], i, results));
    // Whole rounds of the workers: more than were asked for, and not the same for every point.
    std::optional<std::int64_t> steps;
    if (!arguments.whole) steps = runs.config(i).config.train.steps - kMeasureWarmUpSteps;
    points.push_back(point_json(runs.points()[i], i, results, steps));
  }
  out.table(table, table_columns());
  out.line(
      static_cast<std::size_t>(arguments.repeats) >= kLeastRepeats
          ? "  * the best, = the same as the best (95 % interval of the ratio holds 1, or within 2 %)"
          : fmt::format("  * the best, ? fewer than {0} repeats cannot tell it from the best: --repeats {0}",
                        kLeastRepeats));
  add_end(out, runs, "point and repeat");
  out.json = head_json("sweep", arguments.lesson.name, arguments.whole ? Json() : Json(arguments.steps), runs,
                       arguments);
  out.json["points"] = points;
  return out;
}

}  // namespace

int sweep_command(const Words& words) {
  const std::optional<MeasureArguments> parsed = parse_sweep_arguments(words);
  if (!parsed) return 0;
  const MeasureArguments& arguments = *parsed;
  MeasuredRuns runs({.command = "sweep", .arguments = arguments, .stop_at_failure = false},
                    arguments.one_off ? one_off_points(arguments.axes) : grid_of(arguments.axes));
  const int code = runs.run();
  if (arguments.one_off) {
    print_one_off(runs, arguments);
    return code;
  }
  const Results results(runs.points());
  if (results.best_rate == 0 && results.headline.empty()) return code;
  report_of(runs, arguments, results).print(arguments.json);
  return code;
}

}  // namespace isobar
