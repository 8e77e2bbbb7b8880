#pragma once
// Rates of a machine that nobody measured, in round numbers.
#include "core/machine.h"
#include "formula/machine_rates.h"

namespace isobar {

/// One thread does 10 GFLOP/s of products, attention at half of that, and moves 1 GB/s; two do twice as much.
inline MachineRates made_rates(const std::string& machine = machine_name()) {
  MachineRates out;
  out.machine = machine;
  out.measured = "2026-11-01T12:00:00Z";
  out.read_bytes_per_s = 1e9;
  out.link = {.latency_us = 10, .bytes_per_us = 1000};
  for (const int threads : {1, 2}) {
    ThreadRates rates;
    rates.threads = threads;
    rates.fp32 = {.peak_flops_per_s = threads * 20e9,
                  .patch_flops_per_s = threads * 5e9,
                  .gemm = {{30'000, threads * 10e9}, {300'000, threads * 20e9}},
                  .attention_forward = {{72, threads * 5e9}},
                  .attention_backward = {{72, threads * 5e9}},
                  .element = {{1000, threads * 1e9}},
                  .element_fused = {{1000, threads * 2e9}}};
    rates.bf16 = rates.fp32;  // which of the two lessons take is the processor's affair
    rates.memory_bytes_per_s = threads * 4e9;
    rates.adam = rates.fused_adam = {{1e6, threads * 1e9}};
    rates.ends_us_per_value = 1e-3 / threads;
    rates.fused_ends_us_per_value = 0.5e-3 / threads;
    out.threads.push_back(rates);
  }
  return out;
}

}  // namespace isobar
