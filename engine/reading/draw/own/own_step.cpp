// Lesson 01: what a step of the run took, and what it kept in memory.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "draw/own/own_run.h"
#include "draw/stacked_bar.h"

namespace isobar {
namespace {

StackedBar own_step_bar(const Theme& theme, const RunSummary& summary) {
  StackedBar out;
  out.title = "Time of a step, mean of the steady ones";
  out.total = fmt::format("{:.2f} ms", summary.step_us * 1e-3);
  out.axis = "time in ms";
  out.unit = 1e3;
  double rest = summary.step_us;
  for (const auto& [stage, us] : summary.stages_us) {
    out.parts.push_back(stage_part(theme, stage, us));
    rest -= us;
  }
  out.parts.push_back(stage_part(theme, "rest", std::max(0.0, rest)));
  return out;
}

StackedBar own_memory_bar(const Theme& theme, const RunView& view) {
  StackedBar out;
  out.title = "Memory at its peak, by formula";
  double total = 0;
  for (const auto& [name, bytes] : view.memory) {
    out.parts.push_back(memory_part(theme, name, static_cast<double>(bytes)));
    total += static_cast<double>(bytes);
  }
  const std::uint64_t peak = view.summary.peak_bytes;
  out.total = human_bytes(static_cast<std::uint64_t>(total));
  out.unit = std::max(total, static_cast<double>(peak)) > 1e9 ? 1e9 : 1e6;
  out.axis = out.unit > 1e6 ? "memory in GB" : "memory in MB";
  out.mark = static_cast<double>(peak);
  if (peak > 0) out.mark_words = "upright line: the peak as it was, " + human_bytes(peak);
  return out;
}

}  // namespace

OwnPicture own_step_and_memory(const OwnRun& run) {
  const RunView view = run.view();
  if (!(view.summary.step_us > 0) || view.summary.stages_us.empty())
    return nothing_to_draw("no stages of steady steps are known",
                           "let it run on beyond its warm-up, then ask again");
  OwnPicture out;
  out.drawing.title = "A step of this run, and its memory";
  out.drawing.alt =
      fmt::format("Two stacked bars: a step of {:.1f} ms by stage, and the memory of a rank by category.",
                  view.summary.step_us * 1e-3);
  out.drawing.body = [view](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_stacked_bar(sketch, own_step_bar(sketch.theme(), view.summary), at, width);
    if (view.memory.empty()) return at.y;
    return paint_stacked_bar(sketch, own_memory_bar(sketch.theme(), view), {at.x, at.y + sketch.px(18)},
                             width);
  };
  return out;
}

}  // namespace isobar
