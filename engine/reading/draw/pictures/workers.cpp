// Lesson 02: threads that read ahead.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/chart.h"
#include "draw/gantt.h"
#include "draw/pictures/pictures.h"

namespace isobar {
namespace {

constexpr double kRead = 6;
constexpr std::array<std::pair<const char*, double>, 3> kCompute = {
    {{"forward", 1.4}, {"backward", 2.7}, {"optimize", 0.6}}};
constexpr double kComputing = 4.7;
constexpr int kReadAhead = 4;
constexpr double kSeen = 4 * (kRead + kComputing);

/// One step; gives when it ends.
double add_step(std::vector<GanttSpan>& row, const Theme& theme, double at, int batch) {
  for (const auto& [stage, time] : kCompute) {
    const bool is_long = time > 2;
    row.push_back(stage_span(theme, at, at + time, stage, is_long ? std::to_string(batch) : ""));
    at += time;
  }
  return at;
}

GanttSpan read_span(const Theme& theme, double begin, int batch) {
  return stage_span(theme, begin, begin + kRead, "load", fmt::format("read {}", batch));
}

Gantt schematic_gantt(std::vector<GanttRow> rows) {
  Gantt out;
  out.rows = std::move(rows);
  out.end = kSeen;
  out.axis = "time";
  out.has_ticks = false;
  out.widest_label = "worker 2";
  return out;
}

Gantt without_workers(const Theme& theme) {
  GanttRow loop{"the loop", {}};
  double at = 0;
  for (int batch = 1; at < kSeen; ++batch) {
    loop.spans.push_back(read_span(theme, at, batch));
    at = add_step(loop.spans, theme, at + kRead, batch);
  }
  return schematic_gantt({loop});
}

/// Each worker takes the next batch that nobody has taken; the loop takes them in order, and gives each one's
/// memory back when its step is done.
Gantt with_workers(const Theme& theme, std::size_t count) {
  std::vector<GanttRow> rows = {{"the loop", {}}};
  std::vector<double> ready(count, 0), done;
  for (std::size_t w = 0; w < count; ++w) rows.push_back({fmt::format("worker {}", w + 1), {}});
  for (int batch = 1; done.empty() || done.back() < kSeen; ++batch) {
    const auto worker = std::min_element(ready.begin(), ready.end());
    const double room = batch > kReadAhead ? done[static_cast<std::size_t>(batch - kReadAhead - 1)] : 0;
    const double begin = std::max(*worker, room);
    rows[static_cast<std::size_t>(worker - ready.begin()) + 1].spans.push_back(
        read_span(theme, begin, batch));
    *worker = begin + kRead;
    done.push_back(add_step(rows[0].spans, theme, std::max(done.empty() ? 0 : done.back(), *worker), batch));
  }
  return schematic_gantt(std::move(rows));
}

float paint_loop_and_loaders(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto panel = [&](const std::string& title, const Gantt& gantt) {
    at.y = sketch.words(at, width, title) + sketch.px(4);
    at.y = paint_gantt(sketch, gantt, at, width) + sketch.px(10);
  };
  panel("Without workers: the loop reads a batch, then computes with it.", without_workers(theme));
  panel("With two workers: they read the next batches while the loop computes.", with_workers(theme, 2));
  const std::array<LegendEntry, 4> legend = {
      stage_entry(theme, "load", "read a batch (its number)"), stage_entry(theme, "forward"),
      stage_entry(theme, "backward", "backward (of that batch)"), stage_entry(theme, "optimize")};
  return sketch.legend(at, width, legend);
}

/// Samples/s in percent of computing alone.
double worker_rate(double workers, double read, double compute) {
  if (workers < 1) return 100 * compute / (compute + read);
  return 100 * std::min(1.0, workers * compute / read);
}

float paint_worker_rates(Sketch& sketch, PlotPoint at, float width) {
  struct Case {
    double read;
    Mark mark;
    std::size_t series;
    Dash dash;
  };
  static constexpr std::array<Case, 3> kCases = {{{0.5, Mark::circle, 6, Dash::solid},
                                                  {1.5, Mark::square, 4, Dash::dashed},
                                                  {5, Mark::triangle, 2, Dash::dotted}}};
  const Theme& theme = sketch.theme();
  ChartSpec spec;
  spec.x = {.least = 0, .most = 8, .whole = true};
  spec.y = {.least = 0, .most = 108};
  spec.x_title = "workers (0: the loop reads)";
  spec.y_title = "samples/s in % of what computing alone would reach";
  spec.height = 210;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  for (const Case& one : kCases) {
    std::vector<PlotPoint> points;
    for (int w = 0; w <= 8; ++w) points.push_back(area.at(w, worker_rate(w, one.read, 1)));
    sketch.canvas().line(points, theme.series[one.series], sketch.px(2), one.dash);
    for (const PlotPoint& point : points) sketch.mark(point, one.mark, theme.series[one.series]);
  }
  PlotPoint below = {at.x, area.end + sketch.px(8)};
  for (const Case& one : kCases) {
    sketch.line({below.x, below.y + sketch.px(8)}, {below.x + sketch.px(30), below.y + sketch.px(8)},
                theme.series[one.series], 2, one.dash);
    sketch.mark({below.x + sketch.px(15), below.y + sketch.px(8)}, one.mark, theme.series[one.series]);
    below.y = sketch.words({below.x + sketch.px(40), below.y}, width - sketch.px(40),
                           fmt::format("reading a batch takes {} as long as computing with it",
                                       one.read < 1 ? "half" : fmt::format("{:g} times", one.read))) +
              sketch.px(3);
  }
  return below.y;
}

}  // namespace

Drawing loop_and_loaders_picture() {
  return {
      "Reading ahead", "schematic: here a read takes 1.3 times as long as computing",
      "Rows of spans over time. Without workers one row, the loop, alternates between reading a batch and "
      "computing with it. With two workers each of them reads batch after batch in a row of its own, and "
      "the loop computes step after step without a gap once the first batch is there.",
      paint_loop_and_loaders};
}

Drawing worker_rates_picture() {
  return {
      "Throughput against workers",
      "by formula: min(computing, workers x reading). Left out: workers compete with computing for "
      "processors",
      "Samples per second over the number of workers, for batches that take half, 1.5 times and 5 times as "
      "long to read as to compute with. Each line rises in proportion to the workers until it meets the rate "
      "of computing alone, and is level from there on.",
      paint_worker_rates};
}

}  // namespace isobar
