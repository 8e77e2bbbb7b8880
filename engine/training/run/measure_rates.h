#pragma once
// All that machine_rates.h keeps, measured here and now.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formula/machine_rates.h"
#include "run/measure_products.h"
#include "run/repeats.h"

namespace isobar {

/// What is measured at which sizes: those of the presets for processors.
struct RateSizes {
  Repeats repeats;
  std::vector<TokenSize> gemm = {{4, 72, 96, 2}, {4, 162, 96, 2}, {4, 288, 192, 4}, {4, 288, 384, 8}};
  std::vector<TokenSize> attention = {{4, 72, 96, 2}, {4, 288, 96, 2}, {1, 990, 96, 2}};
  std::vector<TokenSize> element = {{4, 72, 96, 2}, {4, 325, 192, 4}, {4, 1350, 384, 8}};
  VitShape model = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};         ///< cpu_tiny
  VitShape large_model = {.height = 96, .width = 192, .embed = 192, .depth = 6, .heads = 4};  ///< cpu_small
  std::int64_t batch = 4;
  std::int64_t copy_bytes = 256 << 20;

  /// Few repeats, in a few seconds: rough figures.
  static RateSizes quick();
};

/// float32, and 16 bits where this processor has instructions for them.
std::vector<AmpMode> measured_types();

/// All but the link. `threads`: how many, each measured by itself. `tell` is called with what is measured
/// next: "products, bf16, 2 threads". Throws MeasuringStopped on a request to stop.
MachineRates measure_rates(const RateSizes& sizes, const std::vector<int>& threads,
                           const std::function<void(const std::string&)>& tell);

}  // namespace isobar
