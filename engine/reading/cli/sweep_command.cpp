#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "analyse/recorded_spread.h"
#include "cli/comm_columns.h"
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

/// What the table and the JSON object say, worked out once.
struct Results {
  std::vector<Spread> rates, losses, rmse;
  std::vector<std::string> rate_marks, rmse_marks;
  double best_rate = 0;
  bool has_stalls = false;
  std::vector<std::optional<CommColumns>> comm;  ///< by point
  bool has_comm = false;
  std::string headline;  ///< "" when nothing was scored

  explicit Results(const std::vector<MeasuredPoint>& points) {
    for (const MeasuredPoint& point : points) {
      rates.push_back(point.rate());
      best_rate = std::max(best_rate, rates.back().median());
      has_stalls = has_stalls || point.share("stall_us") >= 0;
      comm.push_back(comm_columns(point.repeats));
      has_comm = has_comm || comm.back();
      const bool scored = !point.repeats.empty() && point.repeats.front().view.summary.has_scores;
      if (scored) headline = point.repeats.front().view.summary.headline;
      losses.push_back(scored ? point.figures(&RunSummary::valid_loss) : Spread());
      rmse.push_back(scored ? point.figures(&RunSummary::rmse) : Spread());
    }
    rate_marks = marks_of(points, rates, /*more_is_better=*/true);
    rmse_marks = marks_of({}, rmse, /*more_is_better=*/false);
  }
};

TableRow head_of(const std::vector<SweepAxis>& axes, const Results& results) {
  TableRow out;
  for (const SweepAxis& axis : axes) out.push_back(axis.key);
  out.insert(out.end(), {"samples/s", "", "min .. max", "of best", "step ms", "load ms"});
  if (results.has_stalls) out.emplace_back("stall");
  if (results.has_comm) {
    const TableRow heads = CommColumns::heads();
    out.insert(out.end(), heads.begin(), heads.end());
  }
  if (!results.headline.empty()) out.insert(out.end(), {"valid loss", results.headline + " RMSE", ""});
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
    out.push_back(fmt::format("{:.1f}", rate.median()));
    out.push_back(results.rate_marks[i]);
    out.push_back(fmt::format("{:.1f} .. {:.1f}", rate.least(), rate.most()));
    out.push_back(fmt::format("{:.1f} %", 100 * rate.median() / results.best_rate));
  }
  out.push_back(milliseconds(point.field("step_us")));
  out.push_back(milliseconds(point.field("load_us")));
  if (results.has_stalls) {
    const double stall = point.share("stall_us");
    out.push_back(stall < 0 ? "-" : fmt::format("{:.1f} %", 100 * stall));
  }
  if (results.has_comm) {
    const TableRow cells =
        results.comm[i] ? results.comm[i]->cells() : TableRow(CommColumns::heads().size(), "-");
    out.insert(out.end(), cells.begin(), cells.end());
  }
  if (!results.headline.empty()) {
    out.push_back(fmt::format("{:.4f}", results.losses[i].median()));
    out.push_back(fmt::format("{:.4f}", results.rmse[i].median()));
    out.push_back(results.rmse_marks[i]);
  }
  return out;
}

Json point_json(const MeasuredPoint& point, std::size_t i, const Results& results,
                std::optional<std::int64_t> steps) {
  Json out = {{"keys", keys_json(point)}};
  point.add_to(out, steps);
  if (!results.rates[i].empty()) {
    out["best"] = results.rate_marks[i] == "*";
    out["same_as_best"] = results.rate_marks[i] == "*" || results.rate_marks[i] == "=";
    out["step_us"] = point.field("step_us");
    out["load_us"] = point.field("load_us");
    if (point.share("stall_us") >= 0) out["stall_share"] = point.share("stall_us");
    if (results.comm[i]) out["comm"] = results.comm[i]->json();
  }
  if (!results.rmse[i].empty()) {
    out["valid_loss"] = results.losses[i].median();
    out["rmse_" + results.headline] = results.rmse[i].median();
    out["best_rmse"] = results.rmse_marks[i] == "*";
  }
  return out;
}

Report report_of(const MeasuredRuns& runs, const MeasureArguments& arguments, const Results& results) {
  Report out;
  out.line("sweep of " + measured_what(runs, arguments, "repeat"));
  std::vector<TableRow> rows = {head_of(arguments.axes, results)};
  Json points = Json::array();
  for (std::size_t i = 0; i < runs.points().size(); ++i) {
    rows.push_back(row_of(runs.points()[i], i, results));
    // Whole rounds of the workers: more than were asked for, and not the same for every point.
    std::optional<std::int64_t> steps;
    if (!arguments.whole) steps = runs.config(i).config.train.steps - kMeasureWarmUpSteps;
    points.push_back(point_json(runs.points()[i], i, results, steps));
  }
  out.table(rows);
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
