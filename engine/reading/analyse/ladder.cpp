#include "analyse/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMostSettings = 4;  // named where a rung trains differently

bool is_scored(const Rung& rung) {
  return !rung.repeats.empty() && rung.repeats.front().view.summary.has_scores;
}

/// The figures of a run's training, to the last bit.
std::vector<double> training_figures(const SteadyFigures& run) {
  std::vector<double> out = {run.view.summary.first_loss, run.view.summary.last_loss};
  for (const RunScores& scores : run.view.scores)
    out.insert(out.end(), {static_cast<double>(scores.step), scores.loss, scores.rmse, scores.acc});
  return out;
}

/// Settings that may change what is learned, and are not those of the baseline.
std::string settings_text(const Rung& rung, const Rung& baseline) {
  std::vector<std::string> out;
  std::size_t left_out = 0;
  for (const auto& [key, value] : rung.settings) {
    const std::string section = key.substr(0, key.find('.'));
    const bool matters = section == "data" || section == "model" || section == "optim" ||
                         section == "schedule" || section == "amp" || section == "fusion" ||
                         section == "train" || section == "graph" || key == "run.fault";
    const std::string other = value_in(baseline.settings, key);
    if (!matters || value == other) continue;
    if (out.size() == kMostSettings) {
      ++left_out;
    } else {
      out.push_back(fmt::format("{} = {} ({})", key, printable(value, 40), printable(other, 40)));
    }
  }
  if (out.empty()) return "all settings that matter are the same, so its arithmetic is not";
  return "settings that differ: " + joined(out) + (left_out > 0 ? fmt::format(" and {} more", left_out) : "");
}

void judge_parity(const Rung& rung, const Rung& baseline, const RungVerdict& first, RungVerdict& out) {
  if (&rung == &baseline) {
    out.parity = Parity::baseline;
    return;
  }
  if (!is_scored(rung) || !(first.valid_loss.median() > 0)) return;
  const double own = (first.valid_loss.most() - first.valid_loss.least()) / first.valid_loss.median();
  out.band = std::max(parity_band(out.precision, first.precision), own);
  out.difference = out.valid_loss.median() / first.valid_loss.median() - 1;
  const auto figures = training_figures(rung.repeats.front());
  if (figures == training_figures(baseline.repeats.front())) {
    out.parity = Parity::bit_equal;
    return;
  }
  // Written so that a loss that is no number differs.
  out.parity =
      std::fabs(out.difference) <= out.band && !out.valid_loss.empty() ? Parity::within : Parity::differs;
  if (out.parity != Parity::differs) return;
  out.notes.push_back(
      fmt::format("{} trains differently: validation loss {:.4f} against {:.4f} of {}, {:+.2g} %; alike is "
                  "within {:.2g} %. {}",
                  rung.lesson, out.valid_loss.median(), first.valid_loss.median(), baseline.lesson,
                  100 * out.difference, 100 * out.band, settings_text(rung, baseline)));
}

std::optional<SpeedUp> speed_up(const Rung& rung, const Rung& other) {
  const std::optional<Compared> found =
      compare(rates(rung.repeats), rates(other.repeats), far_apart(rung.repeats, other.repeats));
  if (!found) return std::nullopt;
  return SpeedUp{*found, other.lesson};
}

RungVerdict figures_of(const Rung& rung) {
  RungVerdict out;
  if (rung.repeats.empty()) return out;
  const RunSummary& first = rung.repeats.front().view.summary;
  const auto spread_of = [&](double RunSummary::*figure) {
    return over(rung.repeats, [&](const SteadyFigures& one) { return one.view.summary.*figure; });
  };
  out.rate = rates(rung.repeats);
  out.precision = first.precision.empty() ? "fp32" : first.precision;
  out.emulated = first.emulated;
  out.arithmetic = first.arithmetic();
  out.peak_flops_per_s = spread_of(&RunSummary::peak_flops_per_s).median();
  out.peak_of_data_sheet = first.peak_of_data_sheet;
  out.parts = step_parts(rung.repeats);
  if (is_scored(rung)) out.valid_loss = spread_of(&RunSummary::valid_loss);
  const bool is_too_low = std::ranges::any_of(
      rung.repeats, [](const SteadyFigures& run) { return run.view.summary.peak_is_too_low(); });
  if (is_too_low) {
    out.notes.push_back(fmt::format("{}: its steps were faster than the peak of {} that was measured for MFU",
                                    rung.lesson, out.arithmetic));
  }
  if (out.emulated) {
    out.notes.push_back(
        fmt::format("{}: {} is emulated on this processor, so what 16 bits gain cannot be seen "
                    "here; {}/README.md has figures of one that has the instructions",
                    rung.lesson, out.precision, "lessons/" + rung.lesson));
  }
  return out;
}

/// The rung that `verdicts[i]` is compared with, of those before it.
std::optional<std::size_t> compared_with(const std::vector<RungVerdict>& verdicts, std::size_t i) {
  std::optional<std::size_t> native;
  for (std::size_t at = i; at-- > 0;) {
    if (verdicts[at].precision.empty()) continue;  // it did not run
    if (verdicts[at].precision == verdicts[i].precision) return at;
    if (!native && !verdicts[at].emulated) native = at;
  }
  return native;
}

}  // namespace

std::vector<RungVerdict> judge_ladder(const std::vector<Rung>& rungs) {
  std::vector<RungVerdict> out;
  std::optional<std::size_t> baseline;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    RungVerdict& verdict = out.emplace_back(figures_of(rungs[i]));
    if (rungs[i].repeats.empty()) continue;
    if (!baseline) baseline = i;
    if (const std::optional<std::size_t> previous = compared_with(out, i)) {
      verdict.on_previous = speed_up(rungs[i], rungs[*previous]);
      const auto skipped = [](const RungVerdict& between) { return !between.precision.empty(); };
      if (std::any_of(out.begin() + static_cast<std::ptrdiff_t>(*previous) + 1, out.end() - 1, skipped)) {
        verdict.notes.push_back(fmt::format("{} is compared with {}, the last rung before it in {}",
                                            rungs[i].lesson, rungs[*previous].lesson, verdict.precision));
      }
    }
    if (*baseline != i) verdict.on_baseline = speed_up(rungs[i], rungs[*baseline]);
    judge_parity(rungs[i], rungs[*baseline], out[*baseline], verdict);
  }
  return out;
}

}  // namespace isobar
