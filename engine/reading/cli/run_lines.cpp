#include "cli/run_lines.h"

#include <fmt/format.h>

#include "analyse/ranks.h"
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

namespace {

constexpr double kSilent_s = 10;  // a step may take that long; more may be a file system that stalls

/// "activations 5.3 MB, weights 1.9 MB, ..."
std::string memory_text(const RunView& view) {
  std::vector<std::string> parts;
  for (const auto& [category, bytes] : view.memory) parts.push_back(category + " " + human_bytes(bytes));
  return join(parts, ", ");
}

}  // namespace

std::string head_line(const RunReader& reader) {
  const RunView& view = reader.view();
  const std::string reason = view.reason.empty() ? "" : ": " + view.reason;
  const std::string age = fmt::format("last sign {} ago", human_seconds(view.age_s));
  const bool stalls = view.state == RunState::running && view.age_s >= kSilent_s;
  const std::string ahead = view.clock_ahead_s > 0
                                ? fmt::format("; the clock of its file system is {} ahead of this one",
                                              human_seconds(view.clock_ahead_s))
                                : "";
  const std::string silent = view.state == RunState::died ? ": it never said its end; " + age
                             : stalls                     ? ": " + age
                                                          : "";
  const std::string marks = marks_text(view);
  const std::string state = view.provenance.empty() ? state_name(view.state) : provenance_text(view);
  return fmt::format("{}  {}{}{}{}", printable(reader.folder().filename().string()), state, reason,
                     silent + ahead, marks.empty() ? "" : "  " + marks.substr(0, marks.size() - 1));
}

std::vector<std::string> whole_lines(const RunReader& reader, const std::filesystem::path& where) {
  const RunView& view = reader.view();
  std::vector<std::string> out = {head_line(reader)};
  if (view.state == RunState::empty) return out;
  const std::string host = view.host.empty() ? "" : " of " + view.host;
  out.push_back(fmt::format("  {}{}, on {}{}, {} {}", view.lesson,
                            view.preset.empty() ? "" : ", preset " + view.preset, view.device, host,
                            view.provenance == "predicted" ? "made" : "started", view.started));
  if (!view.provenance.empty() && !view.point.empty())
    out.push_back("  with         " + printable(view.point, 200));
  for (const RunScores& scores : view.scores) out.push_back(scores_line(scores));
  if (!view.memory.empty()) out.push_back("  predicted    " + memory_text(view));
  const std::vector<std::string> summary = summary_lines(view.summary, view.provenance);
  out.insert(out.end(), summary.begin(), summary.end());
  if (view.unread_lines > 0)
    out.push_back(fmt::format("  {} line{} of the stream could not be read", view.unread_lines,
                              view.unread_lines == 1 ? "" : "s"));
  if (view.summary.world > 1) {
    const std::vector<std::string> ranks = rank_lines(read_ranks(reader.folder()));
    out.insert(out.end(), ranks.begin(), ranks.end());
  }
  out.push_back("  run          " + printable(where.string(), 4096));
  return out;
}

std::vector<std::string> whole_lines(const std::filesystem::path& run) {
  RunReader reader(run);
  reader.read_all();
  return whole_lines(reader, run);
}

}  // namespace isobar
