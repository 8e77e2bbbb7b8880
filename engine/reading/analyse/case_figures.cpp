#include "analyse/case_figures.h"

#include <fmt/format.h>

#include <algorithm>

namespace isobar {

std::string case_label(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

double mean_step_us(const RunCase& one) { return std::max(0.0, means(one.repeats, "step_us").median()); }

double most_peak_bytes(const RunCase& one) {
  return over(one.repeats, [](const SteadyFigures& run) { return run.last("peak_bytes"); }).most();
}

double median_mfu(const RunCase& one) {
  return over(one.repeats,
              [](const SteadyFigures& run) {
                const double share = run.view.summary.mfu();
                return share > 0 ? share : -1;
              })
      .median();
}

Spread valid_losses(const RunCase& one) {
  return over(one.repeats, [](const SteadyFigures& run) {
    const bool any = run.view.summary.has_scores || !run.view.scores.empty();  // of no channel, but a loss
    return any ? run.view.summary.valid_loss : -1;
  });
}

std::string rate_text(const Spread& rate) {
  if (rate.empty()) return "-";
  const int digits = rate.median() >= 1000 ? 0 : 1;
  if (rate.values.size() < 2) return fmt::format("{:.{}f}", rate.median(), digits);
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", rate.median(), digits, rate.least(), digits, rate.most(),
                     digits);
}

}  // namespace isobar
