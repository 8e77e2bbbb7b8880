#include "page/reveal_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "analyse/figure.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "course/rules.h"
#include "course/rules/parts.h"
#include "draw/chart.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "plot/run_drawings.h"

namespace isobar {
namespace {

constexpr double kLogFrom = 50;  // times the least loss: less would be a flat line

float paint_losses(Sketch& sketch, const std::vector<ChartLine>& lines, const std::string& name, PlotPoint at,
                   float width) {
  ChartSpec spec;
  spec.x = {.least = 0, .most = 1, .whole = true};
  spec.y = {.least = 1e300, .most = -1e300};
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      spec.x.most = std::max(spec.x.most, point.x);
      spec.y.least = std::min(spec.y.least, point.y);
      spec.y.most = std::max(spec.y.most, point.y);
    }
  }
  spec.y.log = spec.y.least > 0 && spec.y.most > kLogFrom * spec.y.least;
  const double margin = spec.y.log ? 0 : std::max(1e-9, 0.05 * (spec.y.most - spec.y.least));
  spec.y.least -= margin;
  spec.y.most += margin;
  spec.x_title = "steps";
  spec.y_title = name;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

std::optional<Drawing> loss_drawing(const Question& question, const std::vector<ShownRun>& runs) {
  const std::string name = question.argument("curve", "train/loss");
  std::vector<ChartLine> lines;
  for (const ShownRun& one : runs) {
    ChartLine line{.words = one.label, .marks = false};
    for (const auto& [step, loss] : one.run->series.find(name).points()) {
      if (std::isfinite(loss)) line.points.push_back({step, loss});
    }
    if (line.points.size() > 1) lines.push_back(std::move(line));
  }
  if (lines.empty()) return std::nullopt;
  std::string alt = "Curves over the steps:";
  for (const ChartLine& line : lines)
    alt += fmt::format(" {} goes from {:.3g} to {:.3g}.", line.words, line.points.front().y,
                       line.points.back().y);
  return Drawing{"Your runs: " + name, "", alt, [lines, name](Sketch& sketch, PlotPoint at, float width) {
                   return paint_losses(sketch, lines, name, at, width);
                 }};
}

/// The figure that the question compares; null where it compares times of fields.
const Figure* asked_figure(const Question& question) {
  const std::vector<std::string> of = question.arguments("of");
  const bool is_plain = question.arguments("less").empty() && question.arguments("over").empty();
  if (of.size() > 1 || !is_plain) return nullptr;
  return figure_named(of.empty() ? "samples_per_s" : of.front());
}

/// A figure of a run, or the time of fields of its step, as the question compares it.
std::optional<double> asked_value(const Question& question, const SteadyFigures& run) {
  if (const Figure* const figure = asked_figure(question)) return figure->of(run);
  const auto sum = [&](const char* name) { return sum_of(run, question.arguments(name)); };
  const double value = sum("of") - sum("less"), over = sum("over");
  if (!question.arguments("over").empty()) return over > 0 ? std::optional(100 * value / over) : std::nullopt;
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::string asked_words(const Question& question, const Spread& values) {
  if (const Figure* const figure = asked_figure(question))
    return spread_text(figure->quantity, values) + " " + figure->head;
  const std::vector<std::string> of = question.arguments("of");
  if (!question.arguments("over").empty()) return fmt::format("{:.0f} %", values.median());
  return spread_text(Quantity::time, values) + (of.empty() ? "" : " " + joined(of, " + "));
}

std::optional<Drawing> bars_drawing(const Question& question, const std::vector<ShownRun>& runs) {
  std::vector<IntervalBar> bars;
  std::string alt;
  for (const ShownRun& one : runs) {
    std::vector<double> values;
    for (const SteadyFigures& repeat : one.run->repeats) {
      if (const auto value = asked_value(question, repeat)) values.push_back(*value);
    }
    const Spread spread(values);
    if (spread.empty()) continue;
    bars.push_back({one.label, spread, asked_words(question, Spread({spread.median()}))});
    alt += (alt.empty() ? "" : " ") + one.label + ": " + asked_words(question, spread) + ".";
  }
  if (bars.size() < 2) return std::nullopt;
  return Drawing{"Your runs, with the least and the most of their repeats", "", alt,
                 [bars](Sketch& sketch, PlotPoint at, float width) {
                   return paint_interval_bars(sketch, bars, at, width);
                 }};
}

/// What a step of one run is made of.
std::optional<Drawing> step_drawing(const ShownRun& one) {
  const StageTimes stages = stage_times(one.run->repeats);
  if (stages.empty()) return std::nullopt;
  std::string alt = "A step:";
  for (const auto& [stage, us] : stages) alt += fmt::format(" {} {:.2f} ms.", stage, us * 1e-3);
  return Drawing{"A step of your run " + one.label, "", alt,
                 [stages](Sketch& sketch, PlotPoint at, float width) {
                   StackedBar bar{.title = "mean times",
                                  .total = fmt::format("{:.2f} ms", total_us(stages) * 1e-3),
                                  .axis = "ms",
                                  .unit = 1e3};
                   for (const auto& [stage, us] : stages)
                     bar.parts.push_back(stage_part(sketch.theme(), stage, us));
                   return paint_stacked_bar(sketch, bar, at, width);
                 }};
}

std::optional<Drawing> own_drawing(const ShownRun& one) {
  OwnPicture own = own_picture(one.run->folder);
  return own.drawing.body ? std::optional(std::move(own.drawing)) : std::nullopt;
}

std::optional<Drawing> drawing_of(const Question& question, const std::vector<ShownRun>& runs) {
  if (runs.empty()) return std::nullopt;
  if (Drawing drawing = drawn_together(question.rule, runs); drawing.body) return drawing;
  if (is_one_of(question.rule, {"curve", "loss_direction", "both_directions"}))
    return loss_drawing(question, runs);
  if (is_one_of(question.rule, {"overlapping_track", "made_overlap", "straggler"}))
    return own_drawing(runs.back());
  if (!is_timed(question)) return std::nullopt;
  if (runs.size() > 1) return bars_drawing(question, runs);
  return step_drawing(runs.front());
}

}  // namespace

std::optional<Drawing> reveal_drawing(const Question& question, const std::map<std::string, RunCase>& runs) {
  std::vector<ShownRun> shown;
  for (const NeededRun& wanted : question.runs) {
    const RunCase* const found = find_in(runs, wanted.name);
    const QuestionChoice* const choice = question.choice(wanted.name);
    if (found != nullptr) shown.push_back({choice != nullptr ? choice->text : wanted.name, found});
  }
  return drawing_of(question, shown);
}

std::optional<Drawing> reveal_drawing(const Question& question, const std::vector<RunCase>& made) {
  std::vector<ShownRun> shown;
  for (const RunCase& one : made) shown.push_back({printable(one.folder.filename().string(), 40), &one});
  return drawing_of(question, shown);
}

}  // namespace isobar
