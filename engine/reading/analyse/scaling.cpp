#include "analyse/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/text.h"

namespace isobar {
namespace {

constexpr double kSecondsOfHour = 3600;
constexpr double kSameBatch = 1e-6;  // relative

std::string place_text(const ScalingFigures& point) {
  return fmt::format("{}, {}", line_name(point.line), counted(point.ranks, "rank"));
}

/// Each value of a member once, ascending.
template <typename Value>
std::vector<Value> all_of(const std::vector<ScalingFigures>& points, Value ScalingFigures::*member) {
  std::set<Value> found;
  for (const ScalingFigures& point : points) found.insert(point.*member);
  return {found.begin(), found.end()};
}

/// Values above 0, which is what an unknown one is.
Spread spread_of(const std::vector<ScalingRun>& runs, double ScalingRun::*figure) {
  std::vector<double> values;
  for (const ScalingRun& run : runs) {
    if (run.*figure > 0) values.push_back(run.*figure);
  }
  return Spread(values);
}

/// The middle one where those that never came there count as longest; nothing when it is one of them.
std::optional<double> middle_of(std::vector<double> values, std::size_t of) {
  std::ranges::sort(values);
  const std::size_t above = of / 2;
  const std::size_t below = of % 2 == 1 ? above : above - 1;
  if (of == 0 || above >= values.size()) return std::nullopt;
  return (values[below] + values[above]) / 2;
}

std::optional<ToTarget> to_target(const ScalingPoint& point, double target_loss) {
  ToTarget out;
  std::vector<double> times_s;
  std::vector<double> samples;
  for (const ScalingRun& run : point.runs) {
    if (run.scores.empty()) continue;
    ++out.of;
    for (const RunScores& at : run.scores) {
      if (!(at.loss <= target_loss)) continue;
      ++out.reached;
      if (at.wall_s) times_s.push_back(*at.wall_s);
      if (at.samples) samples.push_back(static_cast<double>(*at.samples));
      break;
    }
  }
  if (out.of == 0) return std::nullopt;
  out.time_s = middle_of(times_s, out.of);
  out.samples = middle_of(samples, out.of);
  if (out.time_s) out.rank_hours = static_cast<double>(point.ranks) * *out.time_s / kSecondsOfHour;
  return out;
}

ScalingFigures figures_of(const ScalingPoint& point, double target_loss) {
  ScalingFigures out;
  out.line = point.line;
  out.ranks = point.ranks;
  out.repeats = point.runs.size();
  out.missing = point.missing;
  out.samples_per_s = spread_of(point.runs, &ScalingRun::samples_per_s);
  out.step_us = spread_of(point.runs, &ScalingRun::step_us);
  out.batch = spread_of(point.runs, &ScalingRun::batch).median();
  std::vector<double> exposed;
  for (const ScalingRun& run : point.runs) {
    if (run.exposed_us) exposed.push_back(*run.exposed_us);
  }
  out.exposed_us = Spread(exposed).known_median();
  const auto ranks = static_cast<double>(point.ranks);
  if (out.exposed_us && out.step_us.median() > 0) out.exposed_share = *out.exposed_us / out.step_us.median();
  if (const double rate = out.samples_per_s.median(); rate > 0)
    out.rank_hours_per_million = ranks * 1e6 / rate / kSecondsOfHour;
  if (!(target_loss > 0)) return out;
  out.to_target = to_target(point, target_loss);
  const Spread wall = spread_of(point.runs, &ScalingRun::wall_s);
  if (out.to_target && !wall.empty()) out.run_rank_hours = ranks * wall.median() / kSecondsOfHour;
  return out;
}

const std::string& where_of(const ScalingPoint& point) {
  static const std::string kNowhere;
  return point.runs.empty() ? kNowhere : point.runs.front().where;
}

/// Why a point cannot be compared with its base; "" = it can.
std::string why_not(ScalingLaw law, const ScalingFigures& point, const ScalingFigures& base) {
  const bool weak = law == ScalingLaw::weak;
  const double wanted =
      weak ? base.batch / static_cast<double>(base.ranks) * static_cast<double>(point.ranks) : base.batch;
  if (std::fabs(point.batch - wanted) <= kSameBatch * wanted) return "";
  return fmt::format("a step has {:g} samples, {} scaling from {} wants {:g}", point.batch, law_name(law),
                     counted(base.ranks, "rank"), wanted);
}

Efficiency efficiency_of(ScalingLaw law, const ScalingFigures& point, const ScalingFigures& base) {
  const double ratio =
      law == ScalingLaw::weak ? 1 : static_cast<double>(base.ranks) / static_cast<double>(point.ranks);
  if (&point == &base)
    return {1, base.step_us.least() / base.step_us.most(), base.step_us.most() / base.step_us.least()};
  return {ratio * base.step_us.median() / point.step_us.median(),
          ratio * base.step_us.least() / point.step_us.most(),
          ratio * base.step_us.most() / point.step_us.least()};
}

void add_efficiency(Scaling& out, const std::vector<ScalingPoint>& points) {
  std::set<ScalingLine> told;
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    ScalingFigures& point = out.points[i];
    if (point.is_gap()) continue;
    const ScalingFigures* const base = out.find(point.line, out.base_ranks);
    if (base == nullptr || base->is_gap()) {
      if (told.insert(point.line).second)
        out.notes.push_back(fmt::format("{}: {} ha{} no value, so that nothing has an efficiency",
                                        line_name(point.line), counted(out.base_ranks, "rank"),
                                        out.base_ranks == 1 ? "s" : "ve"));
      continue;
    }
    const auto base_at = static_cast<std::size_t>(base - out.points.data());
    std::string reason = why_not(out.law, point, *base);
    if (where_of(points[i]) != where_of(points[base_at]))
      reason = "it is of " + where_of(points[i]) + ", the base of " + where_of(points[base_at]);
    if (reason.empty()) {
      point.efficiency = efficiency_of(out.law, point, *base);
    } else {
      out.notes.push_back(place_text(point) + ": no efficiency: " + reason);
    }
  }
}

void add_speedups(Scaling& out) {
  for (ScalingFigures& point : out.points) {
    const ScalingFigures* const base = out.find(point.line, out.base_ranks);
    if (!point.to_target || base == nullptr || base->is_gap() || point.is_gap()) continue;
    point.speedup_samples = point.samples_per_s.median() / base->samples_per_s.median();
    if (base->to_target && base->to_target->time_s && point.to_target->time_s)
      point.speedup_target = *base->to_target->time_s / *point.to_target->time_s;
  }
}

/// Points that miss runs for the same reason stand in one sentence.
void add_missing(Scaling& out) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const ScalingFigures& point : out.points) {
    std::string reason =
        point.repeats == 0
            ? "a gap: " + point.missing
            : "only " + counted(static_cast<std::int64_t>(point.repeats), "repeat") + ": " + point.missing;
    if (point.missing.empty() && point.is_gap() && point.repeats > 0)
      reason = "no rate: no step lies behind the warm-up";
    else if (point.missing.empty())
      continue;
    auto found = std::ranges::find_if(reasons, [&](const auto& one) { return one.first == reason; });
    if (found == reasons.end()) found = reasons.insert(found, {reason, {}});
    found->second.push_back(place_text(point));
  }
  for (const auto& [reason, places] : reasons) out.notes.push_back(joined(places, "; ") + ": " + reason);
}

}  // namespace

const char* law_name(ScalingLaw law) { return law == ScalingLaw::weak ? "weak" : "strong"; }

const char* line_name(ScalingLine line) {
  static constexpr std::array<const char*, kScalingLines.size()> kNames = {"real", "synthetic", "no-comm"};
  return kNames[static_cast<std::size_t>(line)];
}

ScalingRun scaling_run(const SteadyFigures& figures) {
  const RunSummary& summary = figures.view.summary;
  ScalingRun out;
  out.ranks = summary.world;
  out.samples_per_s = figures.samples_per_s;
  out.samples = static_cast<double>(summary.samples);
  if (summary.steps > 0) out.batch = out.samples / static_cast<double>(summary.steps);
  out.wall_s = summary.wall_s;
  if (summary.measure.empty()) out.scores = figures.view.scores;  // it trained
  const std::string elsewhere = provenance_text(figures.view);
  out.where = elsewhere.empty() ? figures.view.device : elsewhere;
  if (figures.steps == 0) return out;
  out.step_us = figures.mean("step_us").value_or(0);
  out.exposed_us = figures.mean("comm_us");
  if (!figures.ranks || !figures.ranks->steady) return out;
  out.exposed_us = figures.ranks->comm.exposed_us;
  for (const RankFigures& rank : figures.ranks->ranks)
    out.step_us = std::max(out.step_us, rank.step_us.value_or(0));
  return out;
}

const ScalingFigures* Scaling::find(ScalingLine line, std::int64_t count) const {
  for (const ScalingFigures& point : points) {
    if (point.line == line && point.ranks == count) return &point;
  }
  return nullptr;
}

std::vector<std::int64_t> Scaling::ranks() const { return all_of(points, &ScalingFigures::ranks); }

std::vector<ScalingLine> Scaling::lines() const { return all_of(points, &ScalingFigures::line); }

std::optional<double> Scaling::ideal_rate(std::int64_t count) const {
  for (const ScalingLine line : lines()) {
    const ScalingFigures* const base = find(line, base_ranks);
    if (base == nullptr || base->is_gap()) continue;
    return base->samples_per_s.median() * static_cast<double>(count) / static_cast<double>(base_ranks);
  }
  return std::nullopt;
}

Scaling judge_scaling(ScalingLaw law, const std::vector<ScalingPoint>& points, double target_loss) {
  Scaling out;
  out.law = law;
  out.target_loss = target_loss;
  for (const ScalingPoint& point : points) out.points.push_back(figures_of(point, target_loss));
  if (!points.empty()) out.base_ranks = out.ranks().front();
  if (out.base_ranks > 1)
    out.notes.push_back(
        fmt::format("efficiency is against {}, the fewest that were asked for, and not against one",
                    counted(out.base_ranks, "rank")));
  add_efficiency(out, points);
  add_speedups(out);
  add_missing(out);
  return out;
}

std::optional<ScalingParts> step_parts(const Scaling& scaling, std::int64_t ranks) {
  const auto step_us = [&](ScalingLine line, std::int64_t count) {
    const ScalingFigures* const point = scaling.find(line, count);
    return point == nullptr || !point->efficiency ? Spread() : point->step_us;
  };
  Spread ideal = step_us(ScalingLine::no_comm, scaling.base_ranks);
  const Spread no_comm = step_us(ScalingLine::no_comm, ranks);
  const Spread synthetic = step_us(ScalingLine::synthetic, ranks);
  const Spread real = step_us(ScalingLine::real, ranks);
  if (ideal.empty() || no_comm.empty() || synthetic.empty() || real.empty()) return std::nullopt;
  if (scaling.law == ScalingLaw::strong) {
    for (double& value : ideal.values)
      value *= static_cast<double>(scaling.base_ranks) / static_cast<double>(ranks);
  }
  const auto beyond = [](const Spread& more, const Spread& less) {
    const double time_us = more.median() - less.median();
    const std::optional<Compared> found = compare(more, less);
    return StepPart{time_us, !found || found->direction != Direction::more};
  };
  return ScalingParts{ideal.median(), beyond(no_comm, ideal), beyond(synthetic, no_comm),
                      beyond(real, synthetic)};
}

}  // namespace isobar
