#pragma once
// A step of base whose gradients travel in buckets while backward computes, by formula, as rows over time.
#include <cstdint>
#include <string>
#include <vector>

#include "formula/bucket_plan.h"
#include "formula/overlap.h"
#include "formula/step_time.h"
#include "plot/bars.h"

namespace isobar {

struct Network {
  int ranks;
  double gbit_per_s, latency_us;
};

/// A step of base in bf16 on an A100, everything fused.
StepTime bucket_step(std::int64_t batch);

/// A cap for the first bucket, one for the others.
std::vector<PlannedBucket> base_plan(std::int64_t first_mib, std::int64_t mib);

std::vector<BucketTime> bucket_times(const std::vector<PlannedBucket>& plan, double backward_us,
                                     const Network& network);

GanttSpan ms_span(const Theme& theme, double begin_us, double end_us, const char* stage,
                  std::string words = "");

/// A step whose optimize begins when its gradients are there.
GanttRow loop_row(const Theme& theme, const StepTime& step, double done_us);

}  // namespace isobar
