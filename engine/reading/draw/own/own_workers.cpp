// Lesson 02: the runs of a sweep over the number of workers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "analyse/run_case.h"
#include "analyse/run_files.h"
#include "analyse/spread.h"
#include "draw/chart.h"
#include "draw/own/own_run.h"

namespace isobar {
namespace {

using WorkerRates = std::map<int, Spread>;

/// Whether nothing but the number of workers tells them apart.
bool differs_in_workers_alone(const ConfigText& one, const ConfigText& other) {
  const std::vector<KeyRow> rows = key_rows({&one, &other});
  return std::ranges::none_of(rows, [](const KeyRow& row) {
    return row.differs && !row.is_label() && !row.is_environment() && row.key != "data.workers";
  });
}

/// Samples/s by the number of workers, of the finished runs of its group.
WorkerRates sweep_rates(const OwnRun& run) {
  const std::string group = run.view().group;
  if (group.empty()) return {};
  const ConfigText own = config_of(run.folder);
  std::map<int, std::vector<double>> rates;
  for (const KnownRun& known : known_runs(run.folder.parent_path())) {
    if (value_in(known.config, "run.group") != group || !differs_in_workers_alone(own, known.config))
      continue;
    const RunView view = glance(known.folder);
    const double rate = view.summary.samples_per_s;
    if (view.state == RunState::done && view.lesson == run.view().lesson && rate > 0)
      rates[std::atoi(value_in(known.config, "data.workers").c_str())].push_back(rate);
  }
  WorkerRates out;
  for (const auto& [workers, measured] : rates) out[workers] = Spread(measured);
  return out;
}

float paint_sweep(Sketch& sketch, const WorkerRates& rates, PlotPoint at, float width) {
  ChartLine line;
  double most = 0;
  for (const auto& [workers, rate] : rates) {
    line.points.push_back({1.0 * workers, rate.median(), rate.least(), rate.most()});
    most = std::max(most, rate.most());
  }
  ChartSpec spec;
  spec.x = {.least = 0, .most = std::max(1.0, 1.05 * rates.rbegin()->first), .whole = true};
  spec.y = {.least = 0, .most = 1.15 * most};
  spec.x_title = "workers (0: the loop reads)";
  spec.y_title = "samples/s: median, and from the least to the most of the repeats";
  const ChartArea area = paint_chart_lines(sketch, spec, {line}, at, width);
  for (const ChartPoint& point : line.points) {
    const std::string words = fmt::format("{:.4g}", point.y);
    const float half = sketch.text_width(words) / 2;
    const PlotPoint top = area.at(point.x, point.most);
    const float x = std::clamp(top.x, area.box.x0 + half + sketch.px(8), area.box.x1 - half);
    sketch.canvas().text(x, top.y - sketch.px(20), words, Face::small, sketch.theme().text, 0.5F);
  }
  return area.end;
}

}  // namespace

OwnPicture own_workers(const OwnRun& run) {
  const WorkerRates rates = sweep_rates(run);
  if (rates.size() < 2) return own_loaders(run);
  std::string alt = "Samples per second over the number of workers:";
  std::size_t runs = 0;
  for (const auto& [workers, rate] : rates) {
    alt += fmt::format(" {:.4g} with {},", rate.median(), workers);
    runs += rate.values.size();
  }
  alt.back() = '.';
  return {
      {"Throughput of this sweep against workers", fmt::format("{}; {} runs of its sweep", run.note, runs),
       alt,
       [rates](Sketch& sketch, PlotPoint at, float width) { return paint_sweep(sketch, rates, at, width); }}};
}

}  // namespace isobar
