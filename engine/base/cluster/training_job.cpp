#include "cluster/training_job.h"

#include <algorithm>
#include <cmath>

namespace isobar {

double normal_quantile(double p) {
  if (p == 0.5) return 0;
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

NodeGroup group_of(const ClusterMachine& machine, int ranks) {
  const int here = std::min(ranks, machine.gpus_per_node);
  return {.nodes = (ranks + here - 1) / here, .ranks_per_node = here};
}

void StepTerms::scale(double factor) {
  for (double StepTerms::*const part :
       {&StepTerms::forward_us, &StepTerms::backward_us, &StepTerms::optimize_us, &StepTerms::contention_us,
        &StepTerms::sharing_us, &StepTerms::jitter_us, &StepTerms::bubble_us, &StepTerms::comm_us,
        &StepTerms::load_us})
    this->*part *= factor;
}

double StepTerms::step_us() const {
  double out = 0;
  for (const auto& [name, us] : named()) out += us;
  return out;
}

std::array<std::pair<const char*, double>, 9> StepTerms::named() const {
  return {{{"forward", forward_us},
           {"backward", backward_us},
           {"optimizer", optimize_us},
           {"contention", contention_us},
           {"sharing", sharing_us},
           {"jitter", jitter_us},
           {"bubble", bubble_us},
           {"communication", comm_us},
           {"loading", load_us}}};
}

double calibrated_compute_us(const ClusterMachine& machine, const TrainingJob& job,
                             const SimulationTerms& terms, double step_us) {
  // A step grows with computing, in straight pieces: regula falsi comes to the end in a few steps.
  double low = 0,
         high = step_us / job.accumulate * job.stages * (1 + 1e-9);  // a sum of parts may be rounded down
  const auto beyond = [&](double compute_us) {
    return simulate_step(machine, job, terms, compute_us).step_us() - step_us;
  };
  double below = beyond(low), above = beyond(high);
  if (below >= 0 || above < 0) return 0;
  double at = high;
  for (int i = 0; i < 60 && above != 0; ++i) {
    const double next = low - below * (high - low) / (above - below);
    const double found = beyond(next);
    if (std::fabs(found) < 1e-9 * step_us || std::fabs(next - at) < 1e-12 * step_us) return next;
    if (found < 0) {
      if (at == low) above /= 2;  // the other end stayed twice
      low = next;
      below = found;
    } else {
      if (at == high) below /= 2;
      high = next;
      above = found;
    }
    at = next;
  }
  return at;
}

}  // namespace isobar
