#include "course/slow_laptop.h"

namespace isobar {

MachineRates slow_laptop_rates() {
  MachineRates out;
  out.machine = "a slow laptop, 2 processors";
  out.measured = "2026-11-25T00:00:00Z";
  out.read_bytes_per_s = 2e9;
  out.link = {.latency_us = 130, .bytes_per_us = 2000};
  for (const int threads : {1, 2}) {
    const double cores = threads;
    ThreadRates rates;
    rates.threads = threads;
    rates.fp32 = {.peak_flops_per_s = cores * 45e9,
                  .patch_flops_per_s = cores * 20e9,
                  .gemm = {{27'648, cores * 22e9}, {442'368, cores * 40e9}},
                  .attention_forward = {{72, cores * 14e9}, {990, cores * 30e9}},
                  .attention_backward = {{72, cores * 15e9}, {990, cores * 30e9}},
                  .element = {{27'648, cores * 4e9}},
                  .element_fused = {{27'648, cores * 3e9}}};
    rates.memory_bytes_per_s = cores * 5e9;
    rates.adam = rates.fused_adam = {{708'960, cores * 7e9}};
    rates.ends_us_per_value = 12e-3 / cores;
    rates.fused_ends_us_per_value = 2e-3 / cores;
    out.threads.push_back(rates);
  }
  return out;
}

}  // namespace isobar
