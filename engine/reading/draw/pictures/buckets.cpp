// Lesson 06: gradients travel while backward goes on.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "draw/gantt.h"
#include "draw/pictures/pictures.h"
#include "formula/bucket_plan.h"
#include "formula/link.h"
#include "formula/overlap.h"
#include "formula/step_time.h"

namespace isobar {
namespace {

constexpr int kBucketRanks = 4;
constexpr double kGbitPerS = 10, kLatencyUs = 50;

/// Bytes of the gradients in the order in which they become ready: the last parameter first.
std::vector<std::int64_t> gradient_bytes_of(const VitShape& s) {
  const std::int64_t e = s.embed, c = s.channels * s.patch * s.patch;
  std::vector<std::int64_t> values = {s.tokens() * e, e * c, e};
  for (std::int64_t block = 0; block < s.depth; ++block) {
    for (const std::int64_t norm : {e, e}) values.push_back(norm);
    for (int k = 0; k < 4; ++k) values.insert(values.end(), {e * e, e});
    for (const std::int64_t norm : {e, e}) values.push_back(norm);
    values.insert(values.end(), {4 * e * e, 4 * e, 4 * e * e, e});
  }
  values.insert(values.end(), {e, e, c * e});
  std::reverse(values.begin(), values.end());
  for (std::int64_t& value : values) value *= 4;
  return values;
}

/// All fused, as lesson 06 trains.
StepTime bucket_step() {
  StepForm form;
  form.shape = kBaseShape;
  form.batch = kBaseBatch;
  form.precision = AmpMode::bf16;
  form.fused_adam = form.fused_bias_gelu = form.fused_residual_norm = true;
  form.fused_qkv = form.fused_head_loss = form.fused_grad_norm = true;
  return predict_step(form, rates_of("A100"));
}

/// Gradients become ready evenly over backward.
std::vector<BucketTime> bucket_times(const std::vector<PlannedBucket>& plan, double backward_us) {
  const Link link = link_of(kLatencyUs, kGbitPerS);
  double all = 0, so_far = 0;
  for (const PlannedBucket& bucket : plan) all += static_cast<double>(bucket.bytes);
  std::vector<BucketTime> out;
  for (const PlannedBucket& bucket : plan) {
    const auto bytes = static_cast<double>(bucket.bytes);
    so_far += bytes;
    out.push_back({backward_us * so_far / all, ring_all_reduce_us(link, kBucketRanks, bytes)});
  }
  return out;
}

Gantt bucket_gantt(const Theme& theme) {
  const StepTime step = bucket_step();
  const double forward = step.forward.total_us(), backward = step.backward.total_us();
  const std::vector<PlannedBucket> plan =
      bucket_plan(gradient_bytes_of(kBaseShape), std::int64_t{1} << 20, std::int64_t{25} << 20);
  const std::vector<BucketTime> times = bucket_times(plan, backward);
  const std::vector<double> finishes = bucket_finishes_us(times);
  const double done = forward + std::max(backward, finishes.back());
  const auto span = [&](double begin_us, double end_us, const char* stage, std::string words) {
    return stage_span(theme, begin_us * 1e-3, end_us * 1e-3, stage, std::move(words));
  };
  Gantt out;
  out.rows.push_back(
      {"the loop",
       {span(0, forward, "forward", "forward"), span(forward, forward + backward, "backward", "backward"),
        span(done, done + step.optimize_us, "optimize", "")}});
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const double end = forward + finishes[i];
    GanttSpan sent = span(end - times[i].cost_us, end, "comm",
                          fmt::format("{:.1f} MB", static_cast<double>(plan[i].bytes) * 1e-6));
    sent.may_stand_beside = true;
    out.rows.push_back({fmt::format("bucket {}", i), {sent}});
  }
  out.end = (done + step.optimize_us) * 1.02e-3;
  out.axis = "time in ms";
  return out;
}

float paint_buckets(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = paint_gantt(sketch, bucket_gantt(theme), at, width);
  const std::array<LegendEntry, 4> legend = {stage_entry(theme, "forward"), stage_entry(theme, "backward"),
                                             stage_entry(theme, "comm", "all-reduce of the bucket"),
                                             stage_entry(theme, "optimize")};
  at.y = sketch.legend(at, width, legend);
  return sketch.words({at.x, at.y + sketch.px(4)}, width,
                      "A bucket is sent as soon as backward has made its last gradient and the bucket before "
                      "it is through. The gradients of the last layers come first.");
}

}  // namespace

Drawing buckets_picture() {
  return {"Buckets of gradients beside backward",
          "by formula: base in bf16, 16 samples a rank, 4 A100 at 10 Gbit/s, comm.bucket_mb = 25; gradients "
          "become ready evenly",
          "Rows over time in milliseconds: the loop with forward, backward and optimize, and below it the "
          "all-reduce of each of "
          "the buckets. All but the last of them run beside backward; optimize begins when the last one is "
          "through.",
          paint_buckets};
}

}  // namespace isobar
