#include "run/measure_rates.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/cpu_instructions.h"
#include "device/device.h"
#include "device/peak.h"
#include "device/precision.h"
#include "run/measure_elements.h"
#include "run/measure_reading.h"

namespace isobar {
namespace {

using Tell = std::function<void(const std::string&)>;

std::string threads_text(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

/// So many blocks that the activations of one are not in the cache any more when backward asks for them; of
/// large or wide ones, whose activations or weights fill a cache by themselves, one.
std::int64_t depth_for(const TokenSize& size) { return size.values() > 1e6 || size.embed > 192 ? 1 : 4; }

TypeRates measure_type(const RateSizes& sizes, AmpMode mode, const Tell& tell) {
  TypeRates out;
  tell("products");
  const c10::ScalarType type = mode == AmpMode::none ? c10::kFloat : half_type(mode).value();
  out.peak_flops_per_s = measure_peak_flops(c10::kCPU, type);
  for (const TokenSize& size : sizes.gemm)
    out.gemm.push_back(measure_gemm(size, depth_for(size), mode, sizes.repeats));
  out.patch_flops_per_s = measure_patch(sizes.model, sizes.batch, mode, sizes.repeats);
  tell("attention");
  for (const TokenSize& size : sizes.attention) {
    const AttentionRateAt rate = measure_attention(size, mode, sizes.repeats);
    out.attention_forward.push_back(rate.forward);
    out.attention_backward.push_back(rate.backward);
  }
  tell("norms, GELU and sums");
  for (const TokenSize& size : sizes.element) {
    const std::int64_t depth = depth_for(size);
    out.element.push_back(measure_elements(size, depth, mode, /*fused=*/false, sizes.repeats));
    out.element_fused.push_back(measure_elements(size, depth, mode, /*fused=*/true, sizes.repeats));
  }
  return out;
}

ThreadRates measure_threads(const RateSizes& sizes, int threads, const Tell& tell) {
  ThreadRates out;
  out.threads = set_up_cpu(threads);
  for (const AmpMode mode : measured_types()) {
    TypeRates& rates = mode == AmpMode::bf16 ? out.bf16 : mode == AmpMode::fp16 ? out.fp16 : out.fp32;
    rates = measure_type(sizes, mode, [&](const std::string& what) {
      tell(fmt::format("{}, {}, {}", what, mode == AmpMode::none ? "fp32" : name_of(mode),
                       threads_text(threads)));
    });
  }
  tell("updates, loss and copies, " + threads_text(threads));
  for (const VitShape& shape : {sizes.model, sizes.large_model}) {
    out.adam.push_back(measure_adam(shape, /*fused=*/false, sizes.repeats));
    out.fused_adam.push_back(measure_adam(shape, /*fused=*/true, sizes.repeats));
  }
  out.ends_us_per_value = measure_ends(sizes.model, sizes.batch, /*fused=*/false, sizes.repeats);
  out.fused_ends_us_per_value = measure_ends(sizes.model, sizes.batch, /*fused=*/true, sizes.repeats);
  out.memory_bytes_per_s = measure_copy(sizes.copy_bytes, sizes.repeats);
  return out;
}

}  // namespace

RateSizes RateSizes::quick() {
  RateSizes out;
  out.repeats = {.least = 1, .most = 5, .budget_us = 20'000};
  out.element.back().tokens /= 2;
  out.copy_bytes /= 4;
  return out;
}

std::vector<AmpMode> measured_types() {
  std::vector<AmpMode> out = {AmpMode::none};
  if (cpu_instructions().multiplies_bf16()) out.push_back(AmpMode::bf16);
  if (cpu_instructions().multiplies_fp16()) out.push_back(AmpMode::fp16);
  return out;
}

MachineRates measure_rates(const RateSizes& sizes, const std::vector<int>& threads, const Tell& tell) {
  MachineRates out;
  out.machine = machine_name();
  out.measured = wall_iso();
  for (const int count : threads) out.threads.push_back(measure_threads(sizes, count, tell));
  set_up_cpu(/*threads=*/1);
  tell("reading");
  out.read_bytes_per_s = measure_reading(sizes.model, sizes.batch, sizes.repeats);
  return out;
}

}  // namespace isobar
