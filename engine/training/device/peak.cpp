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
#include "device/load_cuda.h"
#include "device/precision.h"
#include "formula/device_rates.h"

namespace isobar {
namespace {

constexpr std::int64_t kLongest_us = 300'000;
constexpr double kAlike = 0.02;

double operations(std::int64_t side) {
  const auto n = static_cast<double>(side);
  return 2 * n * n * n;
}

double peak_of_cpu(c10::ScalarType type, std::int64_t side) {
  const at::Tensor a = at::ones({side, side}, type);
  double best = 0;
  int near_best = 0;  // products that were as fast as the best: the third shows that there is nothing better
  const std::int64_t begin_us = steady_us();
  for (int repeat = 0; repeat < 12 && near_best < 3 && steady_us() - begin_us < kLongest_us; ++repeat) {
    const std::int64_t start_us = steady_us();
    const float corner = at::mm(a, a)[0][0].item<float>();  // fetched, so that the product is done
    const auto time_us = static_cast<double>(std::max<std::int64_t>(1, steady_us() - start_us));
    const double rate = corner > 0 ? operations(side) / time_us * 1e6 : 0;
    near_best = rate > best * (1 + kAlike) ? 1 : near_best + (rate > best * (1 - kAlike) ? 1 : 0);
    best = std::max(best, rate);
  }
  return best;
}

/// Products grow until one takes so long that its start does not count. This is done at the end of every run,
/// of short ones too.
double peak_of_cpu(c10::ScalarType type) {
  constexpr double kEnough_us = 2000;
  double best = 0;
  for (const std::int64_t side : {256, 512, 1024}) {
    best = std::max(best, peak_of_cpu(type, side));
    if (best <= 0 || operations(side) / best * 1e6 > kEnough_us) break;
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

Peak peak_of(c10::Device device, AmpMode precision) {
  if (device.is_cuda()) {
    const CudaFacts facts = cuda_plugin().facts();
    const double known =
        data_sheet_flops(facts.devices.at(static_cast<std::size_t>(device.index())).name, precision);
    if (known > 0) return {known, true};
  }
  const bool is_half = !emulates(precision, precision_facts(device));
  const c10::ScalarType type = is_half ? half_type(precision).value_or(c10::kFloat) : c10::kFloat;
  return {measure_peak_flops(device, type), false};
}

}  // namespace isobar
