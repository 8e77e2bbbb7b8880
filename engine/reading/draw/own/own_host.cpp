// Lesson 08: how long host and device are busy with a step of the run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "draw/gantt.h"
#include "draw/own/own_run.h"

namespace isobar {
namespace {

constexpr std::array<const char*, 4> kLaunched = {"forward", "backward", "optimize", "replay"};

struct HostAndDevice {
  std::vector<std::pair<std::string, double>> host, device;  ///< stage and microseconds
  double host_us = 0, device_us = 0;

  void add(std::vector<std::pair<std::string, double>>& to, double& sum, const std::string& stage,
           double us) {
    if (!(us > 0)) return;
    to.emplace_back(stage, us);
    sum += us;
  }
};

/// A run that was measured says both of each stage. A predicted one says how long the host takes for the
/// whole step, and how long the device waits.
HostAndDevice host_and_device(const SteadyFigures& steady) {
  HostAndDevice out;
  for (const std::string stage : kLaunched) {
    out.add(out.host, out.host_us, stage, steady.mean(stage + "_host_us"));
    if (!out.host.empty()) out.add(out.device, out.device_us, stage, steady.mean(stage + "_us"));
  }
  const double idle_us = steady.mean("idle_us"), host_us = steady.mean("step_host_us");
  if (!out.host.empty() || idle_us < 0 || host_us < 0) return out;
  out = {};
  out.add(out.host, out.host_us, "launches", host_us);
  out.add(out.device, out.device_us, "kernels", steady.mean("step_us") - idle_us);
  return out;
}

GanttRow busy_row(const Theme& theme, const char* label,
                  const std::vector<std::pair<std::string, double>>& parts) {
  GanttRow out{label, {}};
  double at = 0;
  for (const auto& [stage, us] : parts) {
    const std::string words = fmt::format("{} {:.2f} ms", stage, us * 1e-3);
    GanttSpan span = stage_span(theme, at, at + us * 1e-3, stage, words);
    if (stage == "launches") {
      span.colour = theme.series[1];
      span.hatch = Hatch::rising;
    } else if (stage == "kernels") {
      span.colour = theme.series[6];
    }
    span.may_stand_beside = parts.size() == 1;
    out.spans.push_back(span);
    at += us * 1e-3;
  }
  return out;
}

}  // namespace

OwnPicture own_host_and_device(const OwnRun& run) {
  if (run.view().device == "cpu")
    return nothing_to_draw("on a processor host and device are one: nothing is launched",
                           "./isobar show 08_cuda_graphs --recorded --picture FILE.svg");
  const HostAndDevice times = host_and_device(run.steady);
  if (!(times.device_us > 0))
    return nothing_to_draw("no steady step says how long host and device were busy",
                           "let it run on beyond its warm-up, then ask again");
  OwnPicture out;
  out.drawing.title = "Host and device in a step of this run";
  out.drawing.alt =
      fmt::format("Two bars: in a step the host is busy for {:.2f} ms, the device for {:.2f} ms.",
                  times.host_us * 1e-3, times.device_us * 1e-3);
  out.drawing.body = [times](Sketch& sketch, PlotPoint at, float width) {
    Gantt gantt;
    gantt.rows = {busy_row(sketch.theme(), "host", times.host),
                  busy_row(sketch.theme(), "device", times.device)};
    gantt.end = 1.02e-3 * std::max(times.host_us, times.device_us);
    gantt.axis = "time in ms";
    at.y = paint_gantt(sketch, gantt, at, width);
    const double more_us = times.host_us - times.device_us;
    return sketch.words(
        at, width,
        more_us > 0
            ? fmt::format(
                  "The host needs {:.2f} ms more than the device: so much can be saved by launching less.",
                  more_us * 1e-3)
            : fmt::format("The host is done {:.2f} ms before the device: launches cost no time here.",
                          -more_us * 1e-3));
  };
  return out;
}

}  // namespace isobar
