// Pictures: the ways of buckets beside one backward pass; bytes and calls of a step of the full-size model;
// the error of a run, and how far the losses of two runs lie apart.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "draw/chart.h"
#include "formula/compression.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_11 {
namespace {

/// What every bucket takes, in units of the picture.
struct WayTimes {
  const char* title;
  std::vector<std::pair<const char*, double>> messages;  ///< what each is about, and how long it takes
  double transform = 0, finish = 0;                      ///< arithmetic
};

constexpr std::size_t kBuckets = 3;
constexpr double kBackward = 10;  ///< from bucket to bucket
constexpr double kOptimize = 3;

/// The loop and the network on one axis, as engine/training/compress sends: bucket i begins its second
/// message when bucket i + 1 has begun.
class WayWalk {
 public:
  WayWalk(const Theme& theme, const WayTimes& way) : theme_(theme), way_(way) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      loop("backward", kBackward, "backward");
      send(bucket);
      if (bucket > 0) send_rest(bucket - 1);
    }
    send_rest(kBuckets - 1);
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      now_ = std::max(now_, through_[bucket]);
      if (way.finish > 0) loop("copy", way.finish);
    }
    loop("optimize", kOptimize);
  }

  double end() const { return now_; }
  Gantt gantt(double end, const char* axis) && {
    return {.title = way_.title,
            .rows = {std::move(loop_), std::move(network_)},
            .end = end,
            .axis = axis,
            .has_ticks = false};
  }

 private:
  void loop(const char* stage, double length, const char* words = "") {
    loop_.spans.push_back(stage_span(theme_, now_, now_ + length, stage, words));
    now_ += length;
  }

  void send(std::size_t bucket) {
    const auto& [words, length] = way_.messages[sent_[bucket]++];
    now_ = sent_[bucket] > 1 ? std::max(now_, through_[bucket]) : now_;
    if (way_.transform > 0) loop("copy", way_.transform);
    const double begin = std::max(now_, link_);
    link_ = through_[bucket] = begin + length;
    GanttSpan span = stage_span(theme_, begin, link_, "comm", fmt::format("{}{}", words, bucket + 1));
    if (sent_[bucket] > 1) span.hatch = Hatch::none;
    network_.spans.push_back(std::move(span));
  }
  void send_rest(std::size_t bucket) {
    while (sent_[bucket] < way_.messages.size()) send(bucket);
  }

  const Theme& theme_;
  const WayTimes& way_;
  GanttRow loop_{"the loop", {}}, network_{"the network", {}};
  double now_ = 0, link_ = 0;
  std::array<double, kBuckets> through_ = {};
  std::array<std::size_t, kBuckets> sent_ = {};
};

float paint_ways(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const std::array<WayTimes, 4> ways = {
      WayTimes{"none: gradients in 32 bits", {{"", 9.5}}},
      WayTimes{"fp16, bf16: 16 bits", {{"", 5}}, 0.4, 0.4},
      WayTimes{"powersgd: P, then Q", {{"P", 1.8}, {"Q", 1.8}}, 1.3, 0.7},
      WayTimes{"acpsgd: P in this step, Q in the next", {{"P", 1.8}}, 1.6, 0.7}};
  double end = 0;
  for (const WayTimes& way : ways) end = std::max(end, WayWalk(theme, way).end());
  for (const WayTimes& way : ways) {
    const char* const axis = &way == &ways.back() ? "time" : "";
    at.y = paint_gantt(sketch, WayWalk(theme, way).gantt(end * 1.02, axis), at, width) + sketch.px(10);
  }
  LegendEntry second = stage_entry(theme, "comm", "all-reduce of Q");
  second.hatch = Hatch::none;
  at.y = sketch.legend(
      at, width,
      std::array{stage_entry(theme, "backward"), stage_entry(theme, "copy", "arithmetic: transform, finish"),
                 stage_entry(theme, "comm", "all-reduce of a bucket"), second,
                 stage_entry(theme, "optimize")});
  return sketch.words({at.x, at.y + sketch.px(4)}, width,
                      "Gaps of the loop: it waits for a sum. Lengths differ from link to link, and with them "
                      "which way is through first.");
}

struct StepCount {
  std::string words;
  double bytes = 0, calls = 0;
};

/// A step of mp with the defaults of lesson 11 at rank 2: other numbers than questions ask for.
StepCount counted_step(CompressKind kind, const char* words) {
  CommConfig comm;
  comm.compress = kind;
  comm.compress_rank = 2;
  VitShape wide = kBaseShape;
  wide.embed = 1024;
  const auto steps = planned_messages(gradient_matrices(wide, /*joins_qkv=*/true), comm);
  return {words, bytes_a_step(steps), calls_a_step(steps)};
}

std::vector<StepCount> counted_steps() {
  constexpr int kLocalSteps = 8;
  std::vector<StepCount> out = {
      counted_step(CompressKind::none, "none"), counted_step(CompressKind::bf16, "bf16"),
      counted_step(CompressKind::powersgd, "powersgd"), counted_step(CompressKind::acpsgd, "acpsgd")};
  out.push_back({fmt::format("weights, H = {}", kLocalSteps), out[0].bytes / kLocalSteps, 1.0 / kLocalSteps});
  return out;
}

float paint_counts(Sketch& sketch, const char* title, const std::vector<IntervalBar>& bars, PlotPoint at,
                   float width) {
  at.y = sketch.words(at, width, title, {.face = Face::small}) + sketch.px(4);
  return paint_interval_bars(sketch, bars, at, width);
}

float paint_bytes(Sketch& sketch, PlotPoint at, float width) {
  std::vector<IntervalBar> bytes, calls;
  for (const StepCount& step : counted_steps()) {
    bytes.push_back({step.words, Spread({step.bytes * 1e-6}), fmt::format("{:.3g} MB", step.bytes * 1e-6)});
    calls.push_back({step.words, Spread({step.calls}), fmt::format("{:.3g}", step.calls)});
  }
  return paint_pair(
      sketch, at, width, 560,
      [&](PlotPoint place, float wide) {
        return paint_counts(sketch, "MB to be added up a step", bytes, place, wide);
      },
      [&](PlotPoint place, float wide) {
        return paint_counts(sketch, "all-reduces a step", calls, place, wide);
      });
}

/// Over its steps; without points where the run has no such curve.
ChartLine curve_line(const RunSeries& series, const char* name, std::string words) {
  ChartLine out{.words = std::move(words)};
  for (const auto& [step, y] : series.find(name).points()) out.points.push_back({step, y});
  return out;
}

float paint_curves(Sketch& sketch, const std::vector<ChartLine>& lines, const std::string& title,
                   PlotPoint at, float width) {
  ChartSpec spec;
  spec.x = {.least = 0, .most = 1, .whole = true};
  spec.y = {.least = 0, .most = 0};
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      spec.x.most = std::max(spec.x.most, point.x);
      spec.y.least = std::min(spec.y.least, 1.05 * point.y);
      spec.y.most = std::max(spec.y.most, 1.05 * point.y);
    }
  }
  if (spec.y.most <= spec.y.least) spec.y.most = spec.y.least + 1;
  spec.x_title = "step";
  spec.y_title = title;
  spec.height = 180;
  return paint_chart_lines(sketch, spec, lines, at, width).end;
}

/// The two norms of the error of a run that measured them; without a body where it did not.
Drawing error_drawing(const RunSeries& series, const std::string& note) {
  const std::vector<ChartLine> lines = {
      curve_line(series, "train/error_norm", "error of rank 0"),
      curve_line(series, "train/mean_error_norm", "mean error of the ranks")};
  if (lines[0].points.size() < 2 || lines[1].points.size() < 2) return {};
  return {"What compression left out", note,
          fmt::format(
              "Two lines over the steps: the norm of the error of rank 0 goes from {:.3g} to {:.3g}, that of "
              "the mean error of the ranks from {:.3g} to {:.3g}.",
              lines[0].points.front().y, lines[0].points.back().y, lines[1].points.front().y,
              lines[1].points.back().y),
          [lines](Sketch& sketch, PlotPoint at, float width) {
            return paint_curves(sketch, lines, "norm of the error", at, width);
          }};
}

OwnPicture own_errors(const OwnRun& run) {
  Drawing drawing = error_drawing(run.reader->series(), run.note);
  return drawing.body ? OwnPicture{std::move(drawing)} : own_buckets(run);
}

/// By how many % the loss of the second run lies above that of the first.
Drawing losses_apart(const ShownRun& base, const ShownRun& other) {
  const ChartLine first = curve_line(base.run->series, "train/loss", ""),
                  second = curve_line(other.run->series, "train/loss", "");
  ChartLine apart{.words = fmt::format("{} above {}", other.label, base.label)};
  for (const ChartPoint& point : second.points) {
    const auto same = std::ranges::find(first.points, point.x, &ChartPoint::x);
    if (same != first.points.end() && same->y > 0)
      apart.points.push_back({point.x, 100 * (point.y / same->y - 1)});
  }
  if (apart.points.size() < 2) return {};
  return {
      "How far the training losses lie apart", "",
      fmt::format("A line over the steps: the training loss of {} lies {:.2g} % above that of {} at the end.",
                  other.label, apart.points.back().y, base.label),
      [apart](Sketch& sketch, PlotPoint at, float width) {
        return paint_curves(sketch, {apart}, "training loss, % above", at, width);
      }};
}

Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (rule == "error_growth" && !runs.empty()) return error_drawing(runs.front().run->series, "");
  if (rule == "losses_apart" && runs.size() == 2) return losses_apart(runs[0], runs[1]);
  return {};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Four ways of three buckets", "schematic: one backward pass, each bucket ready after a third of it",
        "Four pairs of rows over the same time, the loop with backward and below it the network. Gradients "
        "in 32 "
        "bits need one long all-reduce a bucket, and the last one ends well after backward. In 16 bits each "
        "takes "
        "half as long. PowerSGD has a short all-reduce of P for each bucket and, behind the next bucket, a "
        "short "
        "one of Q; arithmetic makes backward longer, and for the last bucket the loop waits for P, then for "
        "Q. "
        "Alternate compression has one short all-reduce a bucket.",
        paint_ways}},
      {"bytes",
       {"Bytes and calls of a step",
        "counted: mp, 632 MB of gradients, comm.bucket_mb = 25, rank 2; means over steps",
        "Two rows of bars for a step of the wide model, megabytes and all-reduces: gradients as they "
        "are, bf16, "
        "PowerSGD and alternate compression of rank 2, and averages of weights every eight steps.",
        paint_bytes}}};
}

const AddLessonView kView{{"11_compression", pictures, own_errors, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_11
