#pragma once
// The whole step of lesson 05 beside PyTorch's, for `bench fusion`.
#include <filesystem>
#include <string>

#include "bench/bench_report.h"

namespace isobar {

struct FusedStep {
  std::string preset;
  std::string device;
  int threads = 1;
  int pairs = 10;
  bool compiles = true;
};

/// Rows "step, eager", "step, fused Adam" and "step, compiled"; then the one with the fastest peer again as
/// "step", of which at least 1 is asked. Ten steps must give the same losses first.
void measure_fused_step(const FusedStep& wanted, const std::filesystem::path& peers, BenchReport& report);

}  // namespace isobar
