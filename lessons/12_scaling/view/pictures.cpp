// Pictures: what weak and strong scaling keep; terms of a step over the number of ranks; the gradient noise
// of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>

#include "core/text.h"
#include "draw/chart.h"
#include "formula/gradient_noise.h"
#include "log/run_files.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_12 {
namespace {

constexpr std::array kRanks = {1, 2, 4};
constexpr int kStart = 4;        ///< samples a step of one rank
constexpr int kEpoch = 96;       ///< samples of an epoch
constexpr float kSquare = 15;    ///< a sample, in pixels
constexpr float kBetween = 3;    ///< to its neighbour
constexpr float kRankRoom = 12;  ///< to the next rank

/// A rank is a row of squares, a sample each.
float paint_ranks(Sketch& sketch, PlotPoint at, int ranks, int samples, std::size_t series) {
  const float side = sketch.px(kSquare), next = side + sketch.px(kBetween);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int sample = 0; sample < samples; ++sample) {
      const float x = at.x + static_cast<float>(sample) * next;
      sketch.pale({x, at.y, x + side, at.y + side}, sketch.theme().series[series],
                  sample % 2 == 0 ? Hatch::none : Hatch::rising);
    }
    at.y += side + sketch.px(kRankRoom) / 2;
  }
  return at.y;
}

float paint_law(Sketch& sketch, const char* title, bool is_weak, PlotPoint at, float width) {
  const auto count = static_cast<float>(kRanks.size());
  const float gap = sketch.px(16), wide = (width - gap * (count - 1)) / count;
  at.y = sketch.words(at, width, title, {.colour = sketch.theme().text}) + sketch.px(6);
  float end = at.y;
  for (std::size_t i = 0; i < kRanks.size(); ++i) {
    const int ranks = kRanks[i], own = is_weak ? kStart : kStart / ranks, joint = own * ranks;
    PlotPoint place = {at.x + static_cast<float>(i) * (wide + gap), at.y};
    place.y =
        sketch.words(place, wide, counted(ranks, "rank"), {.colour = sketch.theme().dim}) + sketch.px(4);
    place.y = paint_ranks(sketch, place, ranks, own, is_weak ? 1 : 4) + sketch.px(4);
    place.y =
        sketch.words(place, wide, fmt::format("joint batch {}, {} updates an epoch", joint, kEpoch / joint));
    end = std::max(end, place.y);
  }
  return end + sketch.px(12);
}

float paint_laws(Sketch& sketch, PlotPoint at, float width) {
  at.y = paint_law(sketch, "Weak: the batch of a rank stays", true, at, width);
  return paint_law(sketch, "Strong: the joint batch stays", false, at, width);
}

// Other numbers than questions give.
constexpr double kBucketMb = 7, kGbPerS = 25, kLatencyUs = 8, kJitterMs = 0.5;
constexpr double kFewest = 8, kMost = 4096;

ChartLine term_line(const char* words, double (*term)(double ranks)) {
  ChartLine out{.words = words};
  for (double ranks = kFewest; ranks <= kMost; ranks *= 2) out.points.push_back({ranks, term(ranks)});
  return out;
}

std::vector<ChartLine> term_lines() {
  return {
      term_line("bandwidth of the last bucket",
                [](double n) { return 2 * (n - 1) / n * kBucketMb / kGbPerS; }),
      term_line("latency of a ring", [](double n) { return 2 * (n - 1) * kLatencyUs * 1e-3; }),
      term_line("latency of a tree", [](double n) { return 2 * std::log2(n) * kLatencyUs * 1e-3; }),
      term_line("jitter: the slowest rank", [](double n) { return kJitterMs * std::sqrt(2 * std::log(n)); })};
}

float paint_terms(Sketch& sketch, PlotPoint at, float width) {
  ChartSpec spec;
  spec.x = {.least = kFewest, .most = kMost, .log = true};
  spec.y = {.least = 0.03, .most = 100, .log = true};
  spec.x_title = "ranks";
  spec.y_title = "ms a step";
  spec.height = 230;
  return paint_chart_lines(sketch, spec, term_lines(), at, width).end;
}

std::vector<GradientSquares> squares_of(const RunSeries& series) {
  const CurveRef own = series.find("train/local_square"), mean = series.find("train/mean_square");
  std::vector<GradientSquares> out;
  if (!own || !mean || own.curve->y.size() != mean.curve->y.size()) return out;
  for (std::size_t i = 0; i < own.curve->y.size(); ++i) out.push_back({own.curve->y[i], mean.curve->y[i]});
  return out;
}

/// A point for each quarter of the run whose gradient is seen in the noise: the scale grows as the loss
/// falls.
ChartLine noise_line(const RunSeries& series, const RunView& view, const ConfigText& config,
                     std::string words) {
  constexpr std::size_t kParts = 4;
  const std::vector<GradientSquares> steps = squares_of(series);
  const int ranks = static_cast<int>(view.summary.world);
  const CurveRef places = series.find("train/local_square");
  ChartLine out{.words = std::move(words)};
  if (steps.size() < 2 * kParts || ranks < 2) return out;
  const double local_batch = std::atof(value_in(config, "train.global_batch").c_str()) / ranks;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t from = part * steps.size() / kParts, to = (part + 1) * steps.size() / kParts;
    const auto noise = estimate_noise(std::span(steps).subspan(from, to - from), local_batch, ranks);
    if (!noise) continue;
    const double spread = noise->scale.spread.value_or(0), value = noise->scale.value;
    out.points.push_back({places.places->step[places.curve->row((from + to) / 2)], value,
                          std::max(0.0, value - spread), value + spread});
  }
  return out;
}

ChartLine curve_line(const RunSeries& series, const char* name, std::string words, XAxis over = XAxis::step) {
  ChartLine out{.words = std::move(words)};
  for (const auto& [x, y] : series.find(name).points(over)) {
    if (std::isfinite(y)) out.points.push_back({x, y});
  }
  return out;
}

/// Without a body where no line has two points; lines with fewer are left out.
Drawing lines_drawing(const std::string& title, const std::string& note, const char* x_title,
                      const char* y_title, std::vector<ChartLine> lines) {
  std::erase_if(lines, [](const ChartLine& line) { return line.points.size() < 2; });
  if (lines.empty()) return {};
  ChartSpec spec{.x = {.least = 0, .most = 0},
                 .y = {.least = 0, .most = 0},
                 .x_title = x_title,
                 .y_title = y_title,
                 .height = 190};
  std::string alt = fmt::format("Lines over {}:", x_title);
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      spec.x.most = std::max(spec.x.most, 1.02 * point.x);
      spec.y.most = std::max(spec.y.most, 1.05 * point.most);
    }
    alt += fmt::format(" {} goes from {:.3g} to {:.3g}.", line.words, line.points.front().y,
                       line.points.back().y);
  }
  if (spec.y.most <= 0) spec.y.most = 1;
  return {title, note, alt, [spec, lines](Sketch& sketch, PlotPoint at, float width) {
            return paint_chart_lines(sketch, spec, lines, at, width).end;
          }};
}

Drawing noise_drawing(const std::string& note, std::vector<ChartLine> lines) {
  return lines_drawing("The noise scale of the gradient, with a standard error each way", note, "step",
                       "samples", std::move(lines));
}

OwnPicture own_noise(const OwnRun& run) {
  Drawing drawing = noise_drawing(
      run.note, {noise_line(run.reader->series(), run.view(), config_of(run.folder), "noise scale")});
  return drawing.body ? OwnPicture{std::move(drawing)} : own_buckets(run);
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  std::vector<ChartLine> lines;
  for (const ShownRun& one : runs) {
    const RunSeries& series = one.run->series;
    if (rule == "noise_beside")
      lines.push_back(noise_line(series, one.run->view(), one.run->config, one.label));
    if (rule == "to_target") lines.push_back(curve_line(series, "valid/loss", one.label, XAxis::time));
    if (rule == "made_overfits" || rule == "made_diverges") {
      lines.push_back(curve_line(series, "train/loss", "training loss"));
      lines.push_back(curve_line(series, "valid/loss", "validation loss"));
    }
  }
  if (rule == "noise_beside") return noise_drawing("", std::move(lines));
  const bool is_timed = rule == "to_target";
  return lines_drawing(is_timed ? "Validation loss over time" : "Both losses of your run", "",
                       is_timed ? "s" : "step", "loss", std::move(lines));
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"What weak and strong scaling keep",
        "a square is a sample of a step, a row a rank; an epoch of 96 samples",
        "Two rows of squares, one row of squares for each rank. Weak: one rank with 4 samples, two with 4 "
        "each, "
        "four with 4 each; the joint batch is 4, 8, 16 and an epoch has 24, 12, 6 updates. Strong: one rank "
        "with "
        "4 samples, two with 2 each, four with 1 each; the joint batch stays 4 and an epoch has 24 updates.",
        paint_laws}},
      {"terms",
       {"What many ranks add to a step",
        "by formula: a last bucket of 7 MB, 25 GB/s, 8 us a message, steps that vary by 0.5 ms",
        "Four lines over 8 to 4,096 ranks, both axes logarithmic, in ms a step. Bandwidth is nearly level at "
        "half a "
        "millisecond, jitter rises slowly from 1 to 2 ms, the latency of a tree stays below a fifth of a "
        "millisecond, and that of a ring rises in proportion to the ranks and passes all others before 256 "
        "ranks.",
        paint_terms}}};
}

const AddLessonView kView{{"12_scaling", pictures, own_noise, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_12
