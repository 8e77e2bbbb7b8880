#include "cli/run_lines.h"

#include <fmt/format.h>

#include "core/text.h"

namespace isobar {

std::string scores_line(const RunScores& scores) {
  std::string out = fmt::format("  after {:>7} steps  loss {:.4f}  {} RMSE {:.4f}", scores.step, scores.loss,
                                scores.headline, scores.rmse);
  if (scores.persistence_rmse > 0)  // else the run did not record it
    out += fmt::format("  persistence {:.4f}  ACC {:.3f}", scores.persistence_rmse, scores.acc);
  return out;
}

std::string live_line(const RunView& view) {
  const RunSummary& summary = view.summary;
  std::string out =
      fmt::format("step {}/{}  epoch {}", summary.steps, summary.wanted_steps, view.last_epoch + 1);
  if (summary.has_losses) out += fmt::format("  loss {:.4f}", summary.last_loss);
  if (summary.samples_per_s > 0) {
    const double left_s = static_cast<double>(summary.wanted_steps - summary.steps) * summary.step_us * 1e-6;
    out += fmt::format("  {:.1f} samples/s  {} left  {}", summary.samples_per_s, human_seconds(left_s),
                       stage_shares(summary.stages_us, summary.step_us));
  }
  return out;
}

std::string marks_text(const RunView& view) {
  std::string out;
  for (const std::string& mark : marks_of(view)) out += "[" + mark + "] ";
  return out;
}

}  // namespace isobar
