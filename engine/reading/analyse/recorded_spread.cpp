#include "analyse/recorded_spread.h"

#include <algorithm>

namespace isobar {

double recorded_apart(const RunView& run) {
  const bool is_gpu = !run.device.empty() && !run.device.starts_with("cpu");
  return is_gpu ? kGpuApart : kProcessorsApart;
}

double far_apart(const RunView& one, const RunView& other) {
  if (one.summary.is_crowded() || other.summary.is_crowded()) return 0;
  return recorded_apart(one) * recorded_apart(other);
}

double far_apart(const Repeats& one, const Repeats& other) {
  const auto is_crowded = [](const SteadyFigures& run) { return run.view.summary.is_crowded(); };
  if (one.empty() || other.empty() || std::any_of(one.begin(), one.end(), is_crowded) ||
      std::any_of(other.begin(), other.end(), is_crowded))
    return 0;
  return far_apart(one.front().view, other.front().view);
}

}  // namespace isobar
