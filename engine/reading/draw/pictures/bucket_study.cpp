// Lesson 10: time by bucket size, measured and predicted, and the loss with and without sending buffers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyse/number_table.h"
#include "core/error.h"
#include "core/files.h"
#include "draw/chart.h"
#include "draw/pictures/pictures.h"
#include "formula/bucket_plan.h"
#include "formula/link.h"
#include "formula/overlap.h"

namespace isobar {
namespace {

constexpr int kNodes = 8, kGpusPerNode = 4;  // of the study
constexpr double kBytesPerUs_of_gbit = 125;
constexpr std::array<double, 10> kSizes_mib = {0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 200};

struct SizedTime {
  double mib = 0, median_ms = 0, least_ms = 0, most_ms = 0;
};
struct SizeLine {
  std::string words;
  std::vector<SizedTime> points;
};

struct LineLook {
  std::size_t series;
  Mark mark;
  Dash dash;
};
constexpr std::array<LineLook, 4> kLooks = {{{6, Mark::circle, Dash::solid},
                                             {4, Mark::square, Dash::dashed},
                                             {2, Mark::triangle, Dash::dotted},
                                             {0, Mark::diamond, Dash::solid}}};

std::string link_words(double gbit_per_s, double latency_us) {
  return latency_us < 1000 ? fmt::format("{:g} Gb/s, {:g} us", gbit_per_s, latency_us)
                           : fmt::format("{:g} Gb/s, {:g} ms", gbit_per_s, latency_us * 1e-3);
}

/// A line for each link, in the order of the table.
std::vector<SizeLine> measured_lines(const NumberTable& table) {
  const std::size_t gbit = table.column("gbit_per_s"), latency = table.column("latency_us"),
                    mib = table.column("bucket_mib"), median = table.column("median_ms"),
                    least = table.column("least_ms"), most = table.column("most_ms");
  std::vector<SizeLine> out;
  for (const std::vector<double>& row : table.rows) {
    const std::string words = link_words(row[gbit], row[latency]);
    auto line = std::find_if(out.begin(), out.end(), [&](const SizeLine& one) { return one.words == words; });
    if (line == out.end()) line = out.insert(out.end(), {words, {}});
    line->points.push_back({row[mib], row[median], row[least], row[most]});
  }
  out.resize(std::min(out.size(), kLooks.size()));
  return out;
}

SizeLine predicted_line(double gbit_per_s) {
  const double latency_us =
      kNcclRingPlateau * nccl_ring_latency_us({.nodes = kNodes, .ranks_per_node = kGpusPerNode});
  const StepTime step = bucket_step(/*batch=*/1);
  SizeLine out{fmt::format("{:g} Gb/s a node", gbit_per_s), {}};
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
    out.points.push_back({mib, ms, ms, ms});
  }
  return out;
}

/// Entries with line and mark, below each other.
float paint_line_legend(Sketch& sketch, PlotPoint at, float width, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const LineLook& look = kLooks[i];
    const Colour colour = sketch.theme().series[look.series];
    sketch.line({at.x, at.y + sketch.px(8)}, {at.x + sketch.px(30), at.y + sketch.px(8)}, colour, 2,
                look.dash);
    sketch.mark({at.x + sketch.px(15), at.y + sketch.px(8)}, look.mark, colour, 4);
    at.y = sketch.words({at.x + sketch.px(40), at.y}, width - sketch.px(40), words[i]) + sketch.px(3);
  }
  return at.y;
}

float paint_size_lines(Sketch& sketch, const std::vector<SizeLine>& lines, PlotPoint at, float width) {
  double most = 0, least_mib = 1e9, most_mib = 0;
  for (const SizeLine& line : lines) {
    for (const SizedTime& point : line.points) {
      most = std::max(most, point.most_ms);
      least_mib = std::min(least_mib, point.mib);
      most_mib = std::max(most_mib, point.mib);
    }
  }
  ChartSpec spec;
  spec.x = {.least = least_mib / 1.2, .most = most_mib * 1.2, .log = true};
  spec.y = {.least = 0, .most = most * 1.1};
  spec.x_title = "size of all buckets in MiB (logarithmic)";
  spec.y_title = "ms a step";
  spec.height = 180;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LineLook& look = kLooks[i];
    const Colour colour = sketch.theme().series[look.series];
    std::vector<PlotPoint> points;
    for (const SizedTime& point : lines[i].points) {
      points.push_back(area.at(point.mib, point.median_ms));
      sketch.line(area.at(point.mib, point.least_ms), area.at(point.mib, point.most_ms), colour, 1);
    }
    sketch.canvas().line(points, colour, sketch.px(2), look.dash);
    for (const PlotPoint& point : points) sketch.mark(point, look.mark, colour, 4);
    words.push_back(lines[i].words);
  }
  return paint_line_legend(sketch, {at.x, area.end + sketch.px(8)}, width, words);
}

float paint_losses(Sketch& sketch, const NumberTable& table, PlotPoint at, float width) {
  const std::size_t step = table.column("step");
  const std::array<std::size_t, 2> columns = {table.column("kept"), table.column("sent")};
  double most = 0, last = 0;
  for (const std::vector<double>& row : table.rows) {
    most = std::max({most, row[columns[0]], row[columns[1]]});
    last = std::max(last, row[step]);
  }
  ChartSpec spec;
  spec.x = {.least = 0, .most = last, .whole = true};
  spec.y = {.least = 0, .most = most * 1.05};
  spec.x_title = "step";
  spec.y_title = "training loss, mean of 20 steps";
  spec.height = 180;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<PlotPoint> points;
    for (const std::vector<double>& row : table.rows) points.push_back(area.at(row[step], row[columns[i]]));
    const Colour colour = sketch.theme().series[kLooks[i].series];
    sketch.canvas().line(points, colour, sketch.px(i == 0 ? 4 : 2), kLooks[i].dash);
    for (const PlotPoint& point : points) sketch.mark(point, kLooks[i].mark, colour, i == 0 ? 5 : 3);
  }
  return paint_line_legend(sketch, {at.x, area.end + sketch.px(8)}, width,
                           {"buffers are not sent", "rank 0's buffers before each forward pass"});
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

float paint_measured_sizes(Sketch& sketch, const NumberTable& table, PlotPoint at, float width) {
  return paint_size_lines(sketch, measured_lines(table), at, width);
}

float paint_study(Sketch& sketch, PlotPoint at, float width) {
  static const Measured kSizes = read_measured("bucket_sizes.csv"),
                        kLosses = read_measured("buffer_losses.csv");
  static const std::vector<SizeLine> kPredicted = {predicted_line(100), predicted_line(400),
                                                   predicted_line(800)};
  const auto head = [&](const std::string& words) {
    at.y = sketch.words(at, width, words, {.face = Face::bold}) + sketch.px(4);
  };
  head("Time by bucket size, on emulated links");
  at.y = paint_measured(sketch, kSizes, paint_measured_sizes, at, width) + sketch.px(14);
  head("The same, predicted: base in bf16, 1 sample a GPU, 8 nodes of 4 A100");
  at.y = paint_size_lines(sketch, kPredicted, at, width) + sketch.px(14);
  head("The loss with and without sending buffers");
  return paint_measured(sketch, kLosses, paint_losses, at, width);
}

}  // namespace

Drawing bucket_study_picture() {
  return {"Bucket size and buffers: two figures of a study, redone",
          "after C. O'Brien, ECMWF; first and last measured here, the middle one by formula",
          "Three charts below each other. First, milliseconds a step over the size of a bucket, measured on "
          "emulated "
          "links, with whiskers from the least to the most of the repeats. Second, the same by formula for "
          "32 GPUs at "
          "100, 400 and 800 gigabits a second a node. Third, the training loss over 1000 steps from the same "
          "seed with "
          "and without the broadcast of buffers: the two lines lie on each other.",
          paint_study};
}

}  // namespace isobar
