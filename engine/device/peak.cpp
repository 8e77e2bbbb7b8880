#include "device/peak.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "core/clock.h"
#include "device/event_pool.h"

namespace isobar {
namespace {

constexpr std::int64_t kLongest_us = 300'000;

double operations(std::int64_t side) {
  const auto n = static_cast<double>(side);
  return 2 * n * n * n;
}

double peak_of_cpu(c10::ScalarType type) {
  constexpr std::int64_t kSide = 1024;
  const at::Tensor a = at::ones({kSide, kSide}, type);
  double best = 0;
  const std::int64_t begin_us = steady_us();
  for (int repeat = 0; repeat < 12 && steady_us() - begin_us < kLongest_us; ++repeat) {
    const std::int64_t start_us = steady_us();
    const float corner = at::mm(a, a)[0][0].item<float>();  // fetched, so that the product is done
    const auto time_us = static_cast<double>(std::max<std::int64_t>(1, steady_us() - start_us));
    if (corner > 0) best = std::max(best, operations(kSide) / time_us * 1e6);
  }
  return best;
}

/// Timed by events around one product each. The values are not all alike: a device multiplies ones with less
/// power, and so faster, than fields.
double peak_of_cuda(c10::Device device, c10::ScalarType type, std::int64_t side) {
  const at::Tensor a = at::arange(side * side, at::TensorOptions(at::kFloat).device(device))
                           .sin_()
                           .view({side, side})
                           .to(type);
  at::Tensor product = at::empty_like(a);
  EventPool events(device);
  at::mm_out(product, a, a);  // chooses its kernel, and wakes the device
  double best = 0;
  const std::int64_t begin_us = steady_us();
  for (int repeat = 0; repeat < 12 && steady_us() - begin_us < kLongest_us; ++repeat) {
    CUevent_st* const begin = events.record();
    at::mm_out(product, a, a);
    CUevent_st* const end = events.record();
    events.wait_for(end);
    best = std::max(best, operations(side) / events.elapsed_us(begin, end) * 1e6);
    events.give_back(begin);
    events.give_back(end);
  }
  return best;
}

}  // namespace

double measure_peak_flops(c10::Device device, c10::ScalarType type) {
  const at::NoGradGuard no_grad;
  if (!device.is_cuda()) return peak_of_cpu(type);
  for (const std::int64_t side : {8192, 4096, 2048}) {  // a small one does not fill the device
    try {
      return peak_of_cuda(device, type, side);
    } catch (const c10::OutOfMemoryError&) {  // the run itself may hold nearly all of it
    }
  }
  return 0;
}

}  // namespace isobar
