// Pictures: buckets of several sizes; time by that size, measured and predicted; the loss with and without
// sending buffers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/chart.h"
#include "formula/link.h"
#include "log/number_table.h"
#include "plot/lesson_view.h"
#include "plot/overlapped_step.h"

namespace isobar::lesson_10 {
namespace {

constexpr Network kFarNodes = {16, 10, 250};

struct SizedStep {
  std::string words;
  std::vector<PlannedBucket> plan;
  std::vector<BucketTime> times;
  double done_us = 0;  ///< when optimize begins
};

SizedStep sized_step(const StepTime& step, const std::string& words, std::int64_t mib) {
  SizedStep out{words, base_plan(mib, mib), {}, 0};
  out.times = bucket_times(out.plan, step.backward.total_us(), kFarNodes);
  out.done_us =
      step.forward.total_us() + std::max(step.backward.total_us(), bucket_finishes_us(out.times).back());
  return out;
}

/// One row for the loop, and one for the network: of each all-reduce its latency, then its bytes.
Gantt sized_gantt(const Theme& theme, const StepTime& step, const SizedStep& sized, double end_us) {
  const double latency_us = ring_all_reduce_us(link_of(kFarNodes.latency_us, 0), kFarNodes.ranks, 0);
  Gantt out{.title = fmt::format("{}: {}", sized.words, counted(std::ssize(sized.plan), "all-reduce")),
            .rows = {loop_row(theme, step, sized.done_us), {"the network", {}}},
            .end = end_us * 1e-3,
            .axis = "time in ms"};
  const std::vector<double> finishes = bucket_finishes_us(sized.times);
  for (std::size_t i = 0; i < sized.times.size(); ++i) {
    const double end = step.forward.total_us() + finishes[i], begin = end - sized.times[i].cost_us;
    out.rows[1].spans.push_back(ms_span(theme, begin, begin + latency_us, "rest"));
    out.rows[1].spans.push_back(ms_span(theme, begin + latency_us, end, "comm"));
  }
  return out;
}

float paint_bucket_sizes(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const StepTime step = bucket_step(kBaseBatch);
  const std::array<SizedStep, 3> steps = {sized_step(step, "1 MiB", 1), sized_step(step, "25 MiB", 25),
                                          sized_step(step, "one bucket of all", 1000)};
  double end_us = 0;
  for (const SizedStep& one : steps) end_us = std::max(end_us, (one.done_us + step.optimize_us) * 1.02);
  for (const SizedStep& one : steps)
    at.y = paint_gantt(sketch, sized_gantt(theme, step, one, end_us), at, width) + sketch.px(10);
  return sketch.legend(at, width,
                       std::array{stage_entry(theme, "forward"), stage_entry(theme, "backward"),
                                  stage_entry(theme, "rest", "latency of an all-reduce"),
                                  stage_entry(theme, "comm", "its bytes"), stage_entry(theme, "optimize")});
}

constexpr int kNodes = 8, kGpusPerNode = 4;  // of the study
constexpr double kBytesPerUs_of_gbit = 125;
constexpr std::array<double, 10> kSizes_mib = {0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 200};

std::string link_words(double gbit_per_s, double latency_us) {
  return latency_us < 1000 ? fmt::format("{:g} Gb/s, {:g} us", gbit_per_s, latency_us)
                           : fmt::format("{:g} Gb/s, {:g} ms", gbit_per_s, latency_us * 1e-3);
}

/// Milliseconds by MiB of a bucket: a line for each link, in the order of the table.
std::vector<ChartLine> measured_lines(const NumberTable& table) {
  const std::size_t gbit = table.column("gbit_per_s"), latency = table.column("latency_us"),
                    mib = table.column("bucket_mib"), median = table.column("median_ms"),
                    least = table.column("least_ms"), most = table.column("most_ms");
  constexpr std::size_t kMostLines = 4;
  std::vector<ChartLine> out;
  for (const std::vector<double>& row : table.rows) {
    const std::string words = link_words(row[gbit], row[latency]);
    ChartLine* line = find_by(out, &ChartLine::words, words);
    if (line == nullptr) line = &out.emplace_back(ChartLine{words, {}});
    line->points.push_back({row[mib], row[median], row[least], row[most]});
  }
  out.resize(std::min(out.size(), kMostLines));
  return out;
}

ChartLine predicted_line(double gbit_per_s) {
  const double latency_us =
      kNcclRingPlateau * nccl_ring_latency_us({.nodes = kNodes, .ranks_per_node = kGpusPerNode});
  const StepTime step = bucket_step(/*batch=*/1);
  ChartLine out{fmt::format("{:g} Gb/s a node", gbit_per_s), {}};
  for (const double mib : kSizes_mib) {
    const auto cap = static_cast<std::int64_t>(mib * (1 << 20));
    const auto cost_us = [&](double bytes) {
      return latency_us + ring_bytes(kNodes * kGpusPerNode, bytes) / (gbit_per_s * kBytesPerUs_of_gbit);
    };
    const std::vector<BucketTime> times =
        even_bucket_times(bucket_plan(gradient_bytes(kBaseShape, /*joins_qkv=*/true), cap, cap),
                          step.backward.total_us(), cost_us);
    const double ms =
        1e-3 *
        overlapped_step_us({step.forward.total_us(), step.backward.total_us(), step.optimize_us, 0}, times);
    out.points.push_back({mib, ms});
  }
  return out;
}

float paint_size_lines(Sketch& sketch, const std::vector<ChartLine>& lines, PlotPoint at, float width) {
  double most = 0, least_mib = 1e9, most_mib = 0;
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      most = std::max(most, point.most);
      least_mib = std::min(least_mib, point.x);
      most_mib = std::max(most_mib, point.x);
    }
  }
  ChartSpec spec;
  spec.x = {.least = least_mib / 1.2, .most = most_mib * 1.2, .log = true};
  spec.y = {.least = 0, .most = most * 1.1};
  spec.x_title = "size of all buckets in MiB (logarithmic)";
  spec.y_title = "ms a step";
  spec.height = 180;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

float paint_losses(Sketch& sketch, const NumberTable& table, PlotPoint at, float width) {
  const std::size_t step = table.column("step");
  std::vector<ChartLine> lines = {{"buffers are not sent", {}, 4},
                                  {"rank 0's buffers before each forward pass", {}}};
  double most = 0, last = 0;
  for (const std::vector<double>& row : table.rows) {
    lines[0].points.push_back({row[step], row[table.column("kept")]});
    lines[1].points.push_back({row[step], row[table.column("sent")]});
    for (const ChartLine& line : lines) most = std::max(most, line.points.back().y);
    last = std::max(last, row[step]);
  }
  ChartSpec spec;
  spec.x = {.least = 0, .most = last, .whole = true};
  spec.y = {.least = 0, .most = most * 1.05};
  spec.x_title = "step";
  spec.y_title = "training loss, mean of 20 steps";
  spec.height = 180;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

/// What was measured of one figure, or why it cannot be shown.
struct Measured {
  NumberTable table;
  std::string problem;
};

Measured read_measured(const char* name) {
  try {
    return {read_number_table(project_home() / "lessons/10_buckets/recorded" / name), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

using PaintTable = float (*)(Sketch& sketch, const NumberTable& table, PlotPoint at, float width);

float paint_measured(Sketch& sketch, const Measured& measured, PaintTable paint, PlotPoint at, float width) {
  if (measured.problem.empty() && !measured.table.rows.empty()) {
    try {
      at.y = sketch.words(at, width, measured.table.note, {.colour = sketch.theme().dim}) + sketch.px(4);
      return paint(sketch, measured.table, at, width);
    } catch (const Error& error) {
      return sketch.words(at, width, std::string("cannot be shown: ") + error.what());
    }
  }
  return sketch.words(
      at, width, "cannot be shown: " + (measured.problem.empty() ? "the table is empty" : measured.problem));
}

float paint_study(Sketch& sketch, PlotPoint at, float width) {
  static const Measured kSizes = read_measured("bucket_sizes.csv"),
                        kLosses = read_measured("buffer_losses.csv");
  static const std::vector<ChartLine> kPredicted = {predicted_line(100), predicted_line(400),
                                                    predicted_line(800)};
  const auto head = [&](const std::string& words) {
    at.y = sketch.words(at, width, words, {.face = Face::bold}) + sketch.px(4);
  };
  head("Time by bucket size, on emulated links");
  const auto sizes = [](Sketch& to, const NumberTable& table, PlotPoint place, float wide) {
    return paint_size_lines(to, measured_lines(table), place, wide);
  };
  at.y = paint_measured(sketch, kSizes, sizes, at, width) + sketch.px(14);
  head("The same, predicted: base in bf16, 1 sample a GPU, 8 nodes of 4 A100");
  at.y = paint_size_lines(sketch, kPredicted, at, width) + sketch.px(14);
  head("The loss with and without sending buffers");
  return paint_measured(sketch, kLosses, paint_losses, at, width);
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Small buckets, large ones, a single one",
        "by formula: base in bf16, 16 samples a rank, 16 A100 at 10 Gbit/s and 250 us, all buckets of one "
        "size; gradients become ready evenly",
        "Three steps over the same time in milliseconds, each with a row for the loop and one for the "
        "network. With buckets of 1 MiB the network is busy with many short all-reduces, most of which is "
        "latency, and optimize begins long after backward. With 25 MiB it begins soon after backward. With "
        "a single bucket the network begins only when backward is done.",
        paint_bucket_sizes}},
      {"study",
       {"Bucket size and buffers: two figures of a study, redone",
        "after C. O'Brien, ECMWF; first and last measured here, the middle one by formula",
        "Three charts below each other. First, milliseconds a step over the size of a bucket, measured on "
        "emulated links, with whiskers from the least to the most of the repeats. Second, the same by "
        "formula "
        "for 32 GPUs at 100, 400 and 800 gigabits a second a node. Third, the training loss over 1000 steps "
        "from the same seed with and without the broadcast of buffers: the two lines lie on each other.",
        paint_study}}};
}

const AddLessonView kView{{"10_buckets", pictures, own_buckets}};

}  // namespace
}  // namespace isobar::lesson_10
