#include "cli/one_off.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/steady.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace {

std::string setting(const SweepAxis& axis, std::size_t value) { return axis.key + "=" + axis.values[value]; }

/// The base with value `value` of key `axis`.
MeasuredPoint point_with(const std::vector<SweepAxis>& axes, std::size_t axis, std::size_t value) {
  MeasuredPoint out;
  out.name = value == 0 ? "base" : setting(axes[axis], value);
  for (std::size_t i = 0; i < axes.size(); ++i) out.sets.push_back(setting(axes[i], i == axis ? value : 0));
  return out;
}

struct Counted {
  const char* field;
  const char* title;
  const char* unit;  ///< of the JSON key
  double scale;
  int digits;
};

// Counted in the step that is watched, not in every one.
constexpr Counted kCounted[] = {{"launches", "launches", "launches", 1, 0},
                                {"moved_bytes", "moved MB", "moved_bytes", 1e-6, 1}};

/// Some point has it.
bool is_counted(const std::vector<MeasuredPoint>& points, const Counted& what) {
  return std::any_of(points.begin(), points.end(),
                     [&](const MeasuredPoint& point) { return point.last(what.field) >= 0; });
}

/// "1016 (-484)": the figure and what the base has more or less.
std::string counted_text(const MeasuredPoint& point, const MeasuredPoint& base, const Counted& what) {
  const double here = point.last(what.field);
  const double before = base.last(what.field);
  if (here < 0) return "-";
  const std::string text = fmt::format("{:.{}f}", here * what.scale, what.digits);
  if (before < 0 || &point == &base) return text;
  return text + fmt::format(" ({:+.{}f})", (here - before) * what.scale, what.digits);
}

const char* verdict_of(const Compared& found) {
  return found.direction == Direction::more ? "faster" : found.direction == Direction::less ? "slower" : "";
}

std::optional<Compared> compare(const MeasuredPoint& point, const MeasuredPoint& base) {
  return compare(point.rate(), base.rate(), far_apart(point.repeats, base.repeats));
}

TableRow row_of(const MeasuredPoint& point, const MeasuredPoint& base, const std::vector<Counted>& counted) {
  TableRow out = {printable(point.name, 60)};
  const Spread rate = point.rate();
  if (rate.empty()) {
    out.push_back(first_line(point.failure, "stopped"));
    return out;
  }
  const std::optional<Compared> compared = compare(point, base);
  out.push_back(fmt::format("{:.1f}", rate.median()));
  out.push_back(&point == &base ? "base" : compared ? ratio_text(*compared) : "-");
  out.push_back(fmt::format("{:.1f} .. {:.1f}", rate.least(), rate.most()));
  out.push_back(fmt::format("{:.2f}", point.field("step_us") * 1e-3));
  out.push_back(&point == &base || !compared ? "" : verdict_of(*compared));
  for (const Counted& what : counted) out.push_back(counted_text(point, base, what));
  return out;
}

Json point_json(const MeasuredPoint& point, const MeasuredPoint& base) {
  Json out = {{"point", point.name}, {"keys", keys_json(point)}};
  point.add_to(out);
  const Spread rate = point.rate();
  if (!rate.empty()) out["step_us"] = point.field("step_us");
  if (const std::optional<Compared> compared = compare(point, base)) {
    add_to(out, *compared);
    out["same_as_base"] = &point == &base || compared->is_same();
  }
  for (const Counted& what : kCounted) {
    if (point.last(what.field) >= 0) out[what.unit] = point.last(what.field);
  }
  return out;
}

}  // namespace

Json keys_json(const MeasuredPoint& point) {
  Json out = Json::object();
  for (const std::string& set : point.sets) out[set.substr(0, set.find('='))] = set.substr(set.find('=') + 1);
  return out;
}

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

void print_one_off(const MeasuredRuns& runs, const MeasureArguments& arguments) {
  if (std::all_of(runs.points().begin(), runs.points().end(),
                  [](const MeasuredPoint& point) { return point.rate().empty(); }))
    return;
  Report out;
  std::vector<Counted> counted;
  TableRow head = {"one value changed", "samples/s", "of base", "min .. max", "step ms", ""};
  for (const Counted& what : kCounted) {
    if (!is_counted(runs.points(), what)) continue;
    counted.push_back(what);
    head.emplace_back(what.title);
  }
  out.line("one-off sweep of " + measured_what(runs, arguments, "repeat"));
  std::vector<TableRow> rows = {head};
  Json points = Json::array();
  for (const MeasuredPoint& point : runs.points()) {
    rows.push_back(row_of(point, runs.points().front(), counted));
    points.push_back(point_json(point, runs.points().front()));
  }
  out.table(rows);
  std::vector<std::string> base;
  for (const SweepAxis& axis : arguments.axes) base.push_back(setting(axis, 0));
  out.line("  base: " + printable(joined(base, " "), 400));
  out.line(
      "  ± half of the 95 % interval; same: it holds 1, or less than 2 % apart; about: few repeats, far "
      "apart; in "
      "brackets: more or less");
  add_end(out, runs, "point and repeat");
  out.json = head_json("sweep", arguments.lesson.name, arguments.whole ? Json() : Json(arguments.steps), runs,
                       arguments);
  out.json["one_off"] = true;
  out.json["points"] = points;
  out.print(arguments.json);
}

}  // namespace isobar
