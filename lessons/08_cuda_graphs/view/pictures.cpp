// Picture: who waits for whom, the device or the host.

#include <algorithm>
#include <array>

#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_08 {
namespace {

constexpr int kKernels = 10;
constexpr double kLaunch = 1, kKernel = 0.55, kReplay = 1.2, kHostSeen = 2 * kKernels * kLaunch + 1;

/// Two steps, launched kernel by kernel.
std::vector<GanttRow> launched_rows(const Theme& theme) {
  GanttRow host{"host", {}}, device{"device", {}};
  double free = 0;
  for (int k = 0; k < 2 * kKernels; ++k) {
    const double begin = k * kLaunch;
    host.spans.push_back(
        {begin, begin + kLaunch, std::to_string(k % kKernels + 1), theme.series[1], Hatch::rising});
    const double start = std::max(free, begin + kLaunch);
    free = start + kKernel;
    device.spans.push_back({start, free, std::to_string(k % kKernels + 1), theme.series[6], Hatch::none});
  }
  return {host, device};
}

std::vector<GanttRow> replayed_rows(const Theme& theme) {
  GanttRow host{"host", {}}, device{"device", {}};
  double free = 0;
  for (int step = 0; free < kHostSeen; ++step) {
    const double begin = std::max(step * kReplay, free - kReplay);
    host.spans.push_back({begin, begin + kReplay, "replay", theme.series[2], Hatch::level});
    double at = std::max(free, begin + kReplay);
    for (int k = 0; k < kKernels; ++k, at += kKernel)
      device.spans.push_back({at, at + kKernel, std::to_string(k + 1), theme.series[6], Hatch::none});
    free = at;
  }
  return {host, device};
}

float paint_host_and_device(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto panel = [&](const std::string& title, std::vector<GanttRow> rows) {
    const Gantt gantt{
        .title = title, .rows = std::move(rows), .end = kHostSeen, .axis = "time", .has_ticks = false};
    at.y = paint_gantt(sketch, gantt, at, width) + sketch.px(10);
  };
  panel("Launched one by one: the device waits for the next launch, and the gaps are grey.",
        launched_rows(theme));
  panel("Replayed: one call for the whole step. The kernels follow each other, and the host is free.",
        replayed_rows(theme));
  return sketch.legend(
      at, width,
      std::array{LegendEntry{"launch of a kernel (its number in the step)", theme.series[1], Hatch::rising},
                 LegendEntry{"replay of a graph", theme.series[2], Hatch::level},
                 LegendEntry{"the kernel runs", theme.series[6]}});
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Host and device", "schematic: steps of ten kernels, each of which takes half as long as its launch",
        "Two pairs of rows over time, host above device. Launched one by one, every short kernel waits for "
        "its launch, so that the device has gaps. Replayed, one short call of the host starts all kernels "
        "of the step, which follow each other without gaps; in the same time more steps are made.",
        paint_host_and_device}}};
}

const AddLessonView kView{{"08_cuda_graphs", pictures, own_host_and_device}};

}  // namespace
}  // namespace isobar::lesson_08
