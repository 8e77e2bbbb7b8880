// Pictures: replicas and what travels between them; gradients that travel while backward computes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "plot/overlapped_step.h"

namespace isobar::lesson_06 {
namespace {

constexpr int kReplicas = 4;

float paint_replica_row(Sketch& sketch, PlotPoint at, float width, float height,
                        const std::array<std::string, kReplicas>& words, std::size_t series, bool alike) {
  static constexpr std::array<Hatch, kReplicas> kHatches = {Hatch::none, Hatch::rising, Hatch::falling,
                                                            Hatch::level};
  const float gap = sketch.px(12), wide = (width - gap * (kReplicas - 1)) / kReplicas;
  for (std::size_t r = 0; r < kReplicas; ++r) {
    const float x = at.x + static_cast<float>(r) * (wide + gap);
    const Box box = {x, at.y, x + wide, at.y + height};
    if (alike) {
      sketch.pale(box, sketch.theme().series[series]);
      sketch.words_in(box, std::array{words[r]}, sketch.theme().text);
      continue;
    }
    sketch.pale({box.x0, box.y0, box.x0 + sketch.px(16), box.y1}, sketch.theme().series[series], kHatches[r]);
    sketch.canvas().frame(box, sketch.theme().series[series]);
    sketch.words_in({box.x0 + sketch.px(16), box.y0, box.x1, box.y1}, std::array{words[r]},
                    sketch.theme().text);
  }
  return at.y + height;
}

void paint_replica_arrows(Sketch& sketch, PlotPoint at, float width, float length) {
  const float gap = sketch.px(12), wide = (width - gap * (kReplicas - 1)) / kReplicas;
  for (int r = 0; r < kReplicas; ++r) {
    const float x = at.x + static_cast<float>(r) * (wide + gap) + wide / 2;
    sketch.arrow({x, at.y + sketch.px(2)}, {x, at.y + length - sketch.px(2)}, sketch.theme().text);
  }
}

std::array<std::string, kReplicas> per_rank(const char* text) {
  std::array<std::string, kReplicas> out;
  for (std::size_t r = 0; r < kReplicas; ++r) out[r] = fmt::format(fmt::runtime(text), r);
  return out;
}

float paint_replicas(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const float down = sketch.px(24), box = sketch.px(38);
  at.y =
      sketch.words(at, width, "Once, at the start: rank 0 sends its weights to all.", {.colour = theme.dim}) +
      sketch.px(4);
  at.y = paint_replica_row(sketch, at, width, box, per_rank("rank {}: all weights w"), 6, true);
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("its own samples"), 1, false);
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("its gradient g{}"), 4, false);
  paint_replica_arrows(sketch, at, width, down);
  const Box reduce = {at.x, at.y + down, at.x + width, at.y + down + sketch.px(40)};
  sketch.pale(reduce, stage_colour(theme, "comm"), Hatch::none);
  sketch.words_in(
      reduce,
      std::array<std::string, 2>{"all-reduce: each rank gets the mean g = (g0 + g1 + g2 + g3) / 4",
                                 "all-reduce: the mean g"},
      theme.text);
  at.y = reduce.y1;
  paint_replica_arrows(sketch, at, width, down);
  at.y = paint_replica_row(sketch, {at.x, at.y + down}, width, box, per_rank("update with g: the same w"), 6,
                           true);
  return sketch.words(
      {at.x, at.y + sketch.px(8)}, width,
      "Only gradients travel in a step, as many bytes as the model has weights: no samples, no activations.");
}

constexpr Network kNode = {4, 10, 50};

Gantt bucket_gantt(const Theme& theme) {
  const StepTime step = bucket_step(kBaseBatch);
  const double forward = step.forward.total_us(), backward = step.backward.total_us();
  const std::vector<PlannedBucket> plan = base_plan(1, 25);
  const std::vector<BucketTime> times = bucket_times(plan, backward, kNode);
  const std::vector<double> finishes = bucket_finishes_us(times);
  const double done = forward + std::max(backward, finishes.back());
  Gantt out{.rows = {loop_row(theme, step, done)}, .axis = "time in ms"};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const double end = forward + finishes[i];
    GanttSpan sent = ms_span(theme, end - times[i].cost_us, end, "comm",
                             fmt::format("{:.1f} MB", static_cast<double>(plan[i].bytes) * 1e-6));
    sent.may_stand_beside = true;
    out.rows.push_back({fmt::format("bucket {}", i), {sent}});
  }
  out.end = (done + step.optimize_us) * 1.02e-3;
  return out;
}

float paint_buckets(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = paint_gantt(sketch, bucket_gantt(theme), at, width);
  at.y = sketch.legend(
      at, width,
      std::array{stage_entry(theme, "forward"), stage_entry(theme, "backward"),
                 stage_entry(theme, "comm", "all-reduce of the bucket"), stage_entry(theme, "optimize")});
  return sketch.words({at.x, at.y + sketch.px(4)}, width,
                      "A bucket is sent as soon as backward has made its last gradient and the bucket before "
                      "it is through. The gradients of the last layers come first.");
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Four replicas of one model", "",
        "Four ranks side by side. Each holds all weights, takes samples of its own and works out a "
        "gradient. An all-reduce gives the mean of the four gradients to each of them, so that all make "
        "the same update and their weights stay equal.",
        paint_replicas}},
      {"buckets",
       {"Buckets of gradients beside backward",
        "by formula: base in bf16, 16 samples a rank, 4 A100 at 10 Gbit/s, comm.bucket_mb = 25; gradients "
        "become ready evenly",
        "Rows over time in milliseconds: the loop with forward, backward and optimize, and below it the "
        "all-reduce of each of the buckets. All but the last of them run beside backward; optimize begins "
        "when the last one is through.",
        paint_buckets}}};
}

const AddLessonView kView{{"06_ddp", pictures, own_buckets}};

}  // namespace
}  // namespace isobar::lesson_06
