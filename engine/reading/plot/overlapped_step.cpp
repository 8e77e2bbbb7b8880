#include "plot/overlapped_step.h"

#include "formula/link.h"
#include "plot/lesson_view.h"

namespace isobar {

StepTime bucket_step(std::int64_t batch) {
  StepForm form;
  form.shape = kBaseShape;
  form.batch = batch;
  form.precision = AmpMode::bf16;
  form.fused_adam = form.fused_bias_gelu = form.fused_residual_norm = true;
  form.fused_qkv = form.fused_head_loss = form.fused_grad_norm = true;
  return predict_step(form, rates_of("A100"));
}

std::vector<PlannedBucket> base_plan(std::int64_t first_mib, std::int64_t mib) {
  return bucket_plan(gradient_bytes(kBaseShape, /*joins_qkv=*/true), first_mib << 20, mib << 20);
}

std::vector<BucketTime> bucket_times(const std::vector<PlannedBucket>& plan, double backward_us,
                                     const Network& network) {
  const Link link = link_of(network.latency_us, network.gbit_per_s);
  return even_bucket_times(plan, backward_us,
                           [&](double bytes) { return ring_all_reduce_us(link, network.ranks, bytes); });
}

GanttSpan ms_span(const Theme& theme, double begin_us, double end_us, const char* stage, std::string words) {
  return stage_span(theme, begin_us * 1e-3, end_us * 1e-3, stage, std::move(words));
}

GanttRow loop_row(const Theme& theme, const StepTime& step, double done_us) {
  const double forward = step.forward.total_us(), backward = step.backward.total_us();
  return {"the loop",
          {ms_span(theme, 0, forward, "forward", "forward"),
           ms_span(theme, forward, forward + backward, "backward", "backward"),
           ms_span(theme, done_us, done_us + step.optimize_us, "optimize")}};
}

}  // namespace isobar
