// Lessons 02 and 03: threads that read ahead, and the path of a batch's bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "draw/bars.h"
#include "draw/chart.h"
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

std::vector<GanttRow> without_workers(const Theme& theme) {
  GanttRow loop{"the loop", {}};
  double at = 0;
  for (int batch = 1; at < kSeen; ++batch) {
    loop.spans.push_back(read_span(theme, at, batch));
    at = add_step(loop.spans, theme, at + kRead, batch);
  }
  return {loop};
}

/// Each worker takes the next batch that nobody has taken; the loop takes them in order, and gives each one's
/// memory back when its step is done.
std::vector<GanttRow> with_workers(const Theme& theme, std::size_t count) {
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

constexpr float kStation = 46;

struct PathArrow {
  std::string words;   ///< what moves the bytes
  std::string passes;  ///< over the host's memory, by their numbers; "" = none
};

struct BytePath {
  std::string title;
  std::array<std::string, 4> stations;
  std::array<PathArrow, 3> arrows;
  PathArrow inside;  ///< what happens within the third station; without words nothing does
};

const std::array<BytePath, 2>& byte_paths() {
  static const std::array<BytePath, 2> kPaths = {{
      {"Lesson 02, a worker fills a batch: 5 passes",
       {"disk", "page cache", "batch", "device"},
       {{{"once", ""}, {"pread", "read 1, write 2"}, {"upload", "read 5"}}},
       {"normalised in place", "read 3, write 4"}},
      {"Lesson 03, threads fill a slot field by field: 3 passes",
       {"disk", "page cache", "slot", "device"},
       {{{"once", ""},
         {"pread, a piece at a time", "read 1, write 2"},
         {"upload beside computing", "read 3"}}},
       {}},
  }};
  return kPaths;
}

/// Where the four stations stand.
struct PathPlaces {
  float x = 0, station = 0, between = 0, y = 0, height = 0;
  Box box(std::size_t i) const {
    const float left = x + static_cast<float>(i) * (station + between);
    return {left, y, left + station, y + height};
  }
};

/// Gives the y where its words end.
float paint_path_arrow(Sketch& sketch, const PathArrow& arrow, const PathPlaces& places, std::size_t i) {
  const Box box = places.box(i);
  const float inset = sketch.px(4), room = places.between - 2 * inset, middle = (box.y0 + box.y1) / 2;
  sketch.arrow({box.x1 + sketch.px(2), middle}, {box.x1 + places.between - sketch.px(2), middle},
               sketch.theme().text, 2);
  const float high = sketch.words_height(arrow.words, Face::small, room);
  sketch.words({box.x1 + inset, middle - high - inset}, room, arrow.words, {.across = 0.5F});
  if (arrow.passes.empty()) return box.y1;
  return sketch.words({box.x1 + inset, middle + sketch.px(5)}, room, arrow.passes,
                      {.face = Face::bold, .across = 0.5F});
}

/// A loop below the third station.
float paint_inside(Sketch& sketch, const PathArrow& inside, const PathPlaces& places) {
  const Box box = places.box(2);
  const float left = box.x0 + box.width() * 0.3F, right = box.x0 + box.width() * 0.7F;
  const float bottom = box.y1 + sketch.px(12), wide = places.station + places.between * 0.9F;
  sketch.line({left, box.y1}, {left, bottom}, sketch.theme().text, 1.5F);
  sketch.line({left, bottom}, {right, bottom}, sketch.theme().text, 1.5F);
  sketch.arrow({right, bottom}, {right, box.y1}, sketch.theme().text);
  const float x = (box.x0 + box.x1 - wide) / 2;
  const float y = sketch.words({x, bottom + sketch.px(16)}, wide, inside.words, {.across = 0.5F});
  return sketch.words({x, y}, wide, inside.passes, {.face = Face::bold, .across = 0.5F});
}

float paint_path(Sketch& sketch, const BytePath& path, PlotPoint at, float width) {
  static constexpr std::array<std::size_t, 4> kSeries = {7, 0, 1, 2};
  at.y = sketch.words(at, width, path.title, {.face = Face::bold}) + sketch.px(8);
  PathPlaces places{at.x, width * 0.13F, 0, at.y, sketch.px(kStation)};
  places.between = (width - 4 * places.station) / 3;
  for (const PathArrow& arrow : path.arrows) {
    const float high = sketch.words_height(arrow.words, Face::small, places.between - sketch.px(8));
    places.y = std::max(places.y, at.y + high + sketch.px(4) - places.height / 2);
  }
  float bottom = places.y + places.height;
  for (std::size_t i = 0; i < path.stations.size(); ++i) {
    sketch.pale(places.box(i), sketch.theme().series[kSeries[i]]);
    sketch.words_in(places.box(i), std::array{path.stations[i]}, sketch.theme().text);
    if (i < path.arrows.size())
      bottom = std::max(bottom, paint_path_arrow(sketch, path.arrows[i], places, i));
  }
  if (!path.inside.words.empty()) bottom = std::max(bottom, paint_inside(sketch, path.inside, places));
  return bottom + sketch.px(18);
}

float paint_batch_path(Sketch& sketch, PlotPoint at, float width) {
  for (const BytePath& path : byte_paths()) at.y = paint_path(sketch, path, at, width);
  return sketch.words(
      at, width,
      "A pass reads or writes all bytes of a batch in the host's memory. The first read of a file, from the "
      "disk, is not counted. Lesson 03 normalises without a pass of its own: with a GPU the device does it "
      "behind the upload; without one, each piece on its way from the page cache to the slot, while it lies "
      "in the processor's cache. Nothing is uploaded then, and the last pass is that of the model, which "
      "reads the batch where it lies.");
}

}  // namespace

std::vector<LessonPicture> workers_pictures() {
  return {
      {"02_workers",
       "idea",
       {"Reading ahead", "schematic: here a read takes 1.3 times as long as computing",
        "Rows of spans over time. Without workers one row, the loop, alternates between reading a batch "
        "and computing with it. With two workers each of them reads batch after batch in a row of its own, "
        "and the loop computes step after step without a gap once the first batch is there.",
        paint_loop_and_loaders}},
      {"02_workers",
       "workers",
       {"Throughput against workers",
        "by formula: min(computing, workers x reading). Left out: workers compete with computing for "
        "processors",
        "Samples per second over the number of workers, for batches that take half, 1.5 times and 5 times "
        "as long to read as to compute with. Each line rises in proportion to the workers until it meets "
        "the rate of computing alone, and is level from there on.",
        paint_worker_rates}},
      {"03_gpu_loader",
       "idea",
       {"The path of a batch's bytes",
        "passes over the host's memory, counted from the code of the two loaders",
        "Two paths from disk over page cache and memory to the device. In lesson 02 pread reads the page "
        "cache and writes the batch, normalising reads and writes it again, and the upload reads it: five "
        "passes over memory. In lesson 03 pieces go from the page cache to a slot, and from there to the "
        "device: three passes.",
        paint_batch_path}}};
}

}  // namespace isobar
