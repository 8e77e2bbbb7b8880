#include "device/peak.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "core/clock.h"

namespace isobar {

double measure_peak_flops(c10::Device device) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kSide = 1024;
  constexpr double kOperations = 2.0 * kSide * kSide * kSide;
  const at::Tensor a = at::ones({kSide, kSide}, at::TensorOptions(at::kFloat).device(device));
  double best = 0;
  const std::int64_t begin_us = steady_us();
  for (int repeat = 0; repeat < 12 && steady_us() - begin_us < 300'000; ++repeat) {
    const std::int64_t start_us = steady_us();
    const float corner = at::mm(a, a)[0][0].item<float>();  // fetched, so that the product is done
    const auto time_us = static_cast<double>(std::max<std::int64_t>(1, steady_us() - start_us));
    if (corner > 0) best = std::max(best, kOperations / time_us * 1e6);
  }
  return best;
}

}  // namespace isobar
