// Lessons 06 and 10: gradients travel while backward goes on, in buckets of several sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "draw/gantt.h"
#include "draw/pictures/pictures.h"
#include "formula/bucket_plan.h"
#include "formula/link.h"
#include "formula/overlap.h"

namespace isobar {
namespace {

struct Network {
  int ranks;
  double gbit_per_s, latency_us;
};
constexpr Network kNode = {4, 10, 50};
constexpr Network kFarNodes = {16, 10, 250};

/// A cap for the first bucket, one for the others.
std::vector<PlannedBucket> base_plan(std::int64_t first_mib, std::int64_t mib) {
  return bucket_plan(gradient_bytes(kBaseShape, /*joins_qkv=*/true), first_mib << 20, mib << 20);
}

std::vector<BucketTime> bucket_times(const std::vector<PlannedBucket>& plan, double backward_us,
                                     const Network& network) {
  const Link link = link_of(network.latency_us, network.gbit_per_s);
  return even_bucket_times(plan, backward_us,
                           [&](double bytes) { return ring_all_reduce_us(link, network.ranks, bytes); });
}

Gantt bucket_gantt(const Theme& theme) {
  const StepTime step = bucket_step(kBaseBatch);
  const double forward = step.forward.total_us(), backward = step.backward.total_us();
  const std::vector<PlannedBucket> plan = base_plan(1, 25);
  const std::vector<BucketTime> times = bucket_times(plan, backward, kNode);
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
  const double forward = step.forward.total_us(), backward = step.backward.total_us();
  const double latency_us = ring_all_reduce_us(link_of(kFarNodes.latency_us, 0), kFarNodes.ranks, 0);
  const auto span = [&](double begin_us, double to_us, const char* stage, std::string words) {
    return stage_span(theme, begin_us * 1e-3, to_us * 1e-3, stage, std::move(words));
  };
  Gantt out;
  out.rows = {
      {"the loop",
       {span(0, forward, "forward", "forward"), span(forward, forward + backward, "backward", "backward"),
        span(sized.done_us, sized.done_us + step.optimize_us, "optimize", "")}},
      {"the network", {}}};
  const std::vector<double> finishes = bucket_finishes_us(sized.times);
  for (std::size_t i = 0; i < sized.times.size(); ++i) {
    const double end = forward + finishes[i], begin = end - sized.times[i].cost_us;
    out.rows[1].spans.push_back(span(begin, begin + latency_us, "rest", ""));
    out.rows[1].spans.push_back(span(begin + latency_us, end, "comm", ""));
  }
  out.end = end_us * 1e-3;
  out.axis = "time in ms";
  return out;
}

float paint_bucket_sizes(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const StepTime step = bucket_step(kBaseBatch);
  const std::array<SizedStep, 3> steps = {sized_step(step, "1 MiB", 1), sized_step(step, "25 MiB", 25),
                                          sized_step(step, "one bucket of all", 1000)};
  double end_us = 0;
  for (const SizedStep& one : steps) end_us = std::max(end_us, (one.done_us + step.optimize_us) * 1.02);
  for (const SizedStep& one : steps) {
    const std::string calls =
        one.plan.size() == 1 ? "1 all-reduce" : fmt::format("{} all-reduces", one.plan.size());
    at.y = sketch.words(at, width, fmt::format("{}: {}", one.words, calls)) + sketch.px(4);
    at.y = paint_gantt(sketch, sized_gantt(theme, step, one, end_us), at, width) + sketch.px(10);
  }
  const std::array<LegendEntry, 5> legend = {stage_entry(theme, "forward"), stage_entry(theme, "backward"),
                                             stage_entry(theme, "rest", "latency of an all-reduce"),
                                             stage_entry(theme, "comm", "its bytes"),
                                             stage_entry(theme, "optimize")};
  return sketch.legend(at, width, legend);
}

}  // namespace

StepTime bucket_step(std::int64_t batch) {
  StepForm form;
  form.shape = kBaseShape;
  form.batch = batch;
  form.precision = AmpMode::bf16;
  form.fused_adam = form.fused_bias_gelu = form.fused_residual_norm = true;
  form.fused_qkv = form.fused_head_loss = form.fused_grad_norm = true;
  return predict_step(form, rates_of("A100"));
}

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

Drawing bucket_sizes_picture() {
  return {
      "Small buckets, large ones, a single one",
      "by formula: base in bf16, 16 samples a rank, 16 A100 at 10 Gbit/s and 250 us, all buckets of one "
      "size; "
      "gradients become ready evenly",
      "Three steps over the same time in milliseconds, each with a row for the loop and one for the network. "
      "With buckets of 1 MiB the network is busy with many short all-reduces, most of which is latency, and "
      "optimize begins long after backward. With 25 MiB it begins soon after backward. With a single bucket "
      "the "
      "network begins only when backward is done.",
      paint_bucket_sizes};
}

}  // namespace isobar
