// Pictures: threads that read ahead, throughput against workers by formula, and that of a run's sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "analyse/run_case.h"
#include "analyse/spread.h"
#include "config/load.h"
#include "core/files.h"
#include "core/text.h"
#include "draw/chart.h"
#include "log/run_files.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_02 {
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

GanttSpan read_span(const Theme& theme, double begin, int batch, double read = kRead) {
  return stage_span(theme, begin, begin + read, "load", fmt::format("read {}", batch));
}

std::vector<GanttRow> without_workers(const Theme& theme, double read = kRead) {
  GanttRow loop{"the loop", {}};
  double at = 0;
  for (int batch = 1; at < kSeen; ++batch) {
    loop.spans.push_back(read_span(theme, at, batch, read));
    at = add_step(loop.spans, theme, at + read, batch);
  }
  return {loop};
}

/// Each worker takes the next batch that nobody has taken; the loop takes them in order, and gives each one's
/// memory back when its step is done. A read of the first worker takes `first`, of the others `all`.
std::vector<GanttRow> with_workers(const Theme& theme, std::size_t count, double all = kRead,
                                   double first = kRead) {
  std::vector<GanttRow> rows = {{"the loop", {}}};
  std::vector<double> ready(count, 0), done;
  for (std::size_t w = 0; w < count; ++w) rows.push_back({fmt::format("worker {}", w + 1), {}});
  for (int batch = 1; done.empty() || done.back() < kSeen; ++batch) {
    const auto worker = std::ranges::min_element(ready);
    const double room = batch > kReadAhead ? done[static_cast<std::size_t>(batch - kReadAhead - 1)] : 0;
    const double begin = std::max(*worker, room), read = worker == ready.begin() ? first : all;
    rows[static_cast<std::size_t>(worker - ready.begin()) + 1].spans.push_back(
        read_span(theme, begin, batch, read));
    *worker = begin + read;
    done.push_back(add_step(rows[0].spans, theme, std::max(done.empty() ? 0 : done.back(), *worker), batch));
  }
  return rows;
}

float paint_loop_and_loaders(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto panel = [&](const std::string& title, std::vector<GanttRow> rows) {
    const Gantt gantt{.title = title,
                      .rows = std::move(rows),
                      .end = kSeen,
                      .axis = "time",
                      .widest_label = "worker 2",
                      .has_ticks = false};
    at.y = paint_gantt(sketch, gantt, at, width) + sketch.px(10);
  };
  panel("Without workers: the loop reads a batch, then computes with it.", without_workers(theme));
  panel("With two workers: they read the next batches while the loop computes.", with_workers(theme, 2));
  return sketch.legend(
      at, width,
      std::array{stage_entry(theme, "load", "read a batch (its number)"), stage_entry(theme, "forward"),
                 stage_entry(theme, "backward", "backward (of that batch)"), stage_entry(theme, "optimize")});
}

/// Loop and workers by each of these settings: data.workers, and reads that take longer, of all workers with
/// run.fault=slow_loader, of one with slow_worker.
std::vector<Drawing> timeline_panels(const std::vector<PanelSettings>& choices) {
  std::vector<Drawing> out;
  for (const PanelSettings& sets : choices) {
    const LessonInfo lesson = read_lesson(project_home(), "02_workers");
    const Config config = load_config(project_home(), lesson, {.sets = sets}, "cpu").config;
    const auto workers = static_cast<std::size_t>(config.data.workers);
    const double all = config.run.fault == Fault::slow_loader ? 2 * kRead : kRead;
    const double first = config.run.fault == Fault::slow_worker ? 3 * kRead : all;
    const auto rows_of = [=](const Theme& theme) {
      return workers == 0 ? without_workers(theme, all) : with_workers(theme, workers, all, first);
    };
    const auto steps =
        std::ranges::count_if(rows_of(theme_of(true)).front().spans, [](const GanttSpan& span) {
          return span.end <= kSeen && span.end - span.begin < 1;  // optimize ends each
        });
    out.push_back(
        {"", "",
         fmt::format("a timeline of {} rows in which the loop makes {}", workers + 1, counted(steps, "step")),
         [rows_of](Sketch& sketch, PlotPoint at, float width) {
           const Gantt gantt{.rows = rows_of(sketch.theme()),
                             .end = kSeen,
                             .axis = "time",
                             .widest_label = "worker 2",
                             .has_ticks = false};
           return paint_gantt(sketch, gantt, at, width);
         }});
  }
  return out;
}

/// Samples/s in percent of computing alone.
double worker_rate(double workers, double read, double compute) {
  if (workers < 1) return 100 * compute / (compute + read);
  return 100 * std::min(1.0, workers * compute / read);
}

float paint_worker_rates(Sketch& sketch, PlotPoint at, float width) {
  constexpr int kMostWorkers = 8;
  ChartSpec spec;
  spec.x = {.least = 0, .most = kMostWorkers, .whole = true};
  spec.y = {.least = 0, .most = 108};
  spec.x_title = "workers (0: the loop reads)";
  spec.y_title = "samples/s in % of what computing alone would reach";
  spec.height = 210;
  std::vector<ChartLine> lines;
  for (const double read : {0.5, 1.5, 5.0}) {
    ChartLine& line = lines.emplace_back();
    line.words = fmt::format("reading a batch takes {} as long as computing with it",
                             read < 1 ? "half" : fmt::format("{:g} times", read));
    for (int w = 0; w <= kMostWorkers; ++w) line.points.push_back({1.0 * w, worker_rate(w, read, 1)});
  }
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

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

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Reading ahead", "schematic: here a read takes 1.3 times as long as computing",
        "Rows of spans over time. Without workers one row, the loop, alternates between reading a batch "
        "and computing with it. With two workers each of them reads batch after batch in a row of its own, "
        "and the loop computes step after step without a gap once the first batch is there.",
        paint_loop_and_loaders}},
      {"workers",
       {"Throughput against workers",
        "by formula: min(computing, workers x reading). Left out: workers compete with computing for "
        "processors",
        "Samples per second over the number of workers, for batches that take half, 1.5 times and 5 times "
        "as long to read as to compute with. Each line rises in proportion to the workers until it meets "
        "the rate of computing alone, and is level from there on.",
        paint_worker_rates}}};
}

const AddLessonView kView{{"02_workers", pictures, own_workers, {}, nullptr, timeline_panels}};

}  // namespace
}  // namespace isobar::lesson_02
