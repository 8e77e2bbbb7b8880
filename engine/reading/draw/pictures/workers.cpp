// Lesson 02: threads that read ahead.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/stage.h"
#include "draw/gantt.h"
#include "draw/pictures/pictures.h"

namespace isobar {
namespace {

constexpr double kRead = 6;
constexpr std::array<std::pair<const char*, double>, 3> kCompute = {
    {{"forward", 1.4}, {"backward", 2.7}, {"optimize", 0.6}}};
constexpr int kBatches = 4;
constexpr double kSeen = 4 * (kRead + 4.7);

/// One step; gives when it ends.
double add_step(std::vector<GanttSpan>& row, const Theme& theme, double at) {
  for (const auto& [stage, time] : kCompute) {
    row.push_back({at, at + time, stage, stage_colour(theme, stage), Hatch::none});
    at += time;
  }
  return at;
}

GanttSpan read_span(const Theme& theme, double begin, int batch) {
  return {begin, begin + kRead, fmt::format("read {}", batch), stage_colour(theme, "load"), Hatch::rising};
}

Gantt gantt_of(std::vector<GanttRow> rows) {
  Gantt out;
  out.rows = std::move(rows);
  out.end = kSeen;
  out.axis = "time";
  out.has_ticks = false;
  return out;
}

Gantt without_workers(const Theme& theme) {
  GanttRow loop{"the loop", {}};
  double at = 0;
  for (int batch = 1; batch <= kBatches; ++batch) {
    loop.spans.push_back(read_span(theme, at, batch));
    at = add_step(loop.spans, theme, at + kRead);
  }
  return gantt_of({loop});
}

/// Each worker takes the next batch that nobody has taken; the loop takes them in order.
Gantt with_workers(const Theme& theme, std::size_t count) {
  std::vector<GanttRow> rows = {{"the loop", {}}};
  std::vector<double> free(count, 0);
  for (std::size_t w = 0; w < count; ++w) rows.push_back({fmt::format("worker {}", w + 1), {}});
  double loop = 0;
  for (int batch = 1; loop < kSeen; ++batch) {
    const auto worker = std::min_element(free.begin(), free.end());
    const auto row = static_cast<std::size_t>(worker - free.begin()) + 1;
    rows[row].spans.push_back(read_span(theme, *worker, batch));
    *worker += kRead;
    loop = add_step(rows[0].spans, theme, std::max(loop, *worker));
  }
  return gantt_of(std::move(rows));
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
      LegendEntry{"read a batch", stage_colour(theme, "load"), Hatch::rising},
      LegendEntry{"forward", stage_colour(theme, "forward")},
      LegendEntry{"backward", stage_colour(theme, "backward")},
      LegendEntry{"optimize", stage_colour(theme, "optimize")}};
  return sketch.legend(at, width, legend);
}

}  // namespace

Drawing loop_and_loaders_picture() {
  return {
      "Reading ahead", "schematic: here a read takes 1.3 times as long as computing",
      "Rows of spans over time. Without workers one row, the loop, alternates between reading a batch and "
      "computing with it. With two workers each of them reads batch after batch in a row of its own, and the "
      "loop computes step after step without a gap once the first batch is there.",
      paint_loop_and_loaders};
}

}  // namespace isobar
