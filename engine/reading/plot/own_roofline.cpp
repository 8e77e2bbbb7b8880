// A run's operators under the roofs of its device.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_prediction.h"
#include "formula/model_shape.h"
#include "log/operators.h"
#include "plot/lesson_view.h"
#include "plot/roofline.h"

namespace isobar {
namespace {

/// Of work that is not counted as arithmetic, one operation is counted for each value that it moves.
constexpr double kBytesAnOperation = 4;

struct ClassWork {
  double us = 0, bytes = 0, flops = 0;
};

/// Time, bytes and operations of a class, a step of one rank.
ClassWork class_work(const RunSummary& summary, const OperatorTable& table, const Config& config,
                     const std::string& kind) {
  ClassWork out;
  out.us = table.time_us(kind);
  for (const OperatorRow& row : table.rows) {
    if (row.kind == kind) out.bytes += static_cast<double>(row.moved_bytes);
  }
  const double samples = static_cast<double>(summary.samples) /
                         static_cast<double>(std::max<std::int64_t>(1, summary.steps * summary.world));
  const double attention = samples * attention_flops(config);
  if (kind == "attention") {
    out.flops = attention;
  } else if (kind == "gemm") {
    out.flops = samples * sample_flops(config) - attention;
  } else {
    out.flops = out.bytes / kBytesAnOperation;
  }
  return out;
}

/// Class times are of a watched step, which takes longer: they are scaled down to what computing takes.
double watched_scale(const OwnRun& run, const OperatorTable& table) {
  double computing_us = 0;
  for (const char* const stage : {"forward", "backward", "optimize", "replay"})
    computing_us += run.view().summary.stage_us(stage).value_or(0);
  const double watched_us = table.all_us();
  return computing_us > 0 && watched_us > computing_us ? computing_us / watched_us : 1;
}

/// Empty points: the run does not say enough.
RooflineChart roofline_of_run(const OwnRun& run) {
  RooflineChart out;
  const OperatorTable table = read_operators(run.folder);
  const std::optional<KnownSettings> known = settings_of(run.folder, run.view().lesson);
  if (table.step < 0 || !known) return out;
  const double scale = watched_scale(run, table);
  for (const char* const kind : kOperatorClassNames) {
    const ClassWork work = class_work(run.view().summary, table, known->config, kind);
    if (!(work.us > 0) || !(work.bytes > 0) || !(work.flops > 0)) continue;
    const double seconds = work.us * scale * 1e-6;
    out.points.push_back(
        {fmt::format("{}, {:.2f} ms", kind, seconds * 1e3), work.flops / work.bytes, work.flops / seconds});
  }
  const RunSummary& summary = run.view().summary;
  if (summary.peak_flops_per_s > 0 && !summary.peak_is_too_low())
    out.roofs.push_back(
        {summary.peak_of_data_sheet ? "data sheet" : "matrix products, measured", summary.peak_flops_per_s});
  const ConfigText config = config_of(run.folder);
  if (const std::optional<MachineRates> rates = rates_behind(config))
    out.bytes_per_s = memory_rate(config, *rates);
  return out;
}

}  // namespace

OwnPicture own_roofline(const OwnRun& run) {
  const RooflineChart chart = roofline_of_run(run);
  if (chart.points.empty())
    return nothing_to_draw("the run watched no operators",
                           "runs that train on a CPU or a GPU here watch one step of their warm-up");
  const auto body = [chart](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_roofline(sketch, chart, at, width);
    const std::string words = fmt::format(
        "Bytes and times are those of the watched step, operations of gemm and attention by formula; of "
        "other classes one "
        "operation is counted a value moved, so that they show how near they come to the bandwidth.{}",
        chart.bytes_per_s > 0 ? ""
                              : " The bandwidth of memory is not known here: ./isobar predict measures it.");
    return sketch.words({at.x, at.y + sketch.px(4)}, width, words, {.colour = sketch.theme().dim});
  };
  return {{"Operators of this run under its roofline", run.note,
           fmt::format("FLOP per second over FLOP per byte, both logarithmic, with a point for each of {} "
                       "classes of operators.",
                       chart.points.size()),
           body}};
}

}  // namespace isobar
