#include "analyse/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyse/operators.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMostSettings = 4;  // named where a rung trains differently

double mean_of(const Rung& rung, std::string_view field) { return means(rung.repeats, field).median(); }

double& part(std::array<double, kPartNames.size()>& parts, Part which) {
  return parts[static_cast<std::size_t>(which)];
}

Part part_of_class(std::string_view name) {
  return name == "attention" ? Part::attention : name == "gemm" ? Part::gemm : Part::memory;
}

/// Whether the device waited for launches: the host was as long at computing as the device, by the two clocks
/// of a CUDA device. On a CPU they are one.
bool is_launch_bound(const Rung& rung, double computing_us) {
  constexpr double kAsLong = 0.95;
  if (rung.repeats.empty() || rung.repeats.front().view.device.rfind("cuda", 0) != 0) return false;
  double host_us = 0;
  for (const char* const stage :
       {"forward_host_us", "backward_host_us", "optimize_host_us", "replay_host_us"})
    host_us += mean_of(rung, stage);
  return host_us >= kAsLong * computing_us;
}

std::array<double, kPartNames.size()> parts_of(const Rung& rung) {
  std::array<double, kPartNames.size()> out{};
  const double step_us = mean_of(rung, "step_us");
  if (!(step_us > 0)) return out;
  part(out, Part::data) = mean_of(rung, "load_us");
  part(out, Part::link) = mean_of(rung, "copy_us") + mean_of(rung, "comm_us");
  double computing_us = 0;
  for (const char* const stage : {"forward_us", "backward_us", "optimize_us", "replay_us"})
    computing_us += mean_of(rung, stage);
  const auto class_us = [&](const char* name) {
    return over(rung.repeats,
                [&](const SteadyFigures& one) {
                  const WatchedSummary& watched = one.view.summary.watched;
                  return watched.step < 0 ? -1 : watched.time_us(name);
                })
        .median();
  };
  double watched_us = 0;
  for (const char* const name : kOperatorClassNames) watched_us += class_us(name);
  if (is_launch_bound(rung, computing_us)) {  // times of operators then hold the gaps before them
    part(out, Part::host) = computing_us;
  } else if (watched_us > 0) {
    const double scale = std::min(1.0, computing_us / watched_us);
    for (const char* const name : kOperatorClassNames)
      part(out, part_of_class(name)) += class_us(name) * scale;
    part(out, Part::host) = std::max(0.0, computing_us - watched_us);
  } else {
    part(out, Part::computing) = computing_us;
  }
  const double known_us = std::accumulate(out.begin(), out.end(), 0.0);
  part(out, Part::host) += std::max(0.0, step_us - known_us);
  for (double& share : out) share /= std::max(step_us, known_us);
  return out;
}

bool is_scored(const Rung& rung) {
  return !rung.repeats.empty() && rung.repeats.front().view.summary.has_scores;
}

/// What a run said of its training, to the last bit.
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
  return "settings that differ: " + join(out, ", ") +
         (left_out > 0 ? fmt::format(" and {} more", left_out) : "");
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

std::optional<SpeedUp> speed_up(const RungVerdict& verdict, const RungVerdict& other,
                                const std::string& lesson) {
  const std::optional<Compared> found = compare(verdict.rate, other.rate);
  if (!found) return std::nullopt;
  return SpeedUp{*found, lesson};
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
  out.mfu = over(rung.repeats, [](const SteadyFigures& one) {
              const double mfu = one.view.summary.mfu();
              return mfu > 0 ? mfu : -1;
            }).median();
  out.peak_flops_per_s = spread_of(&RunSummary::peak_flops_per_s).median();
  out.peak_of_data_sheet = first.peak_of_data_sheet;
  out.parts = parts_of(rung);
  if (is_scored(rung)) out.valid_loss = spread_of(&RunSummary::valid_loss);
  out.peak_bytes = over(rung.repeats, [](const SteadyFigures& one) { return one.last("peak_bytes"); }).most();
  const bool is_too_low = std::any_of(rung.repeats.begin(), rung.repeats.end(), [](const SteadyFigures& run) {
    return run.view.summary.peak_is_too_low();
  });
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

}  // namespace

bool RungVerdict::has_parts() const {
  return std::any_of(parts.begin(), parts.end(), [](double share) { return share > 0; });
}

Part RungVerdict::bound() const {
  return static_cast<Part>(std::max_element(parts.begin(), parts.end()) - parts.begin());
}

std::string RungVerdict::parts_text(std::size_t most) const {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t one, std::size_t other) { return parts[one] > parts[other]; });
  std::vector<std::string> out;
  for (const std::size_t i : order) {
    if (out.size() < most && parts[i] >= 0.005)
      out.push_back(fmt::format("{} {:.0f} %", kPartNames[i], 100 * parts[i]));
  }
  return join(out, ", ");
}

namespace {

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
      verdict.on_previous = speed_up(verdict, out[*previous], rungs[*previous].lesson);
      const auto skipped = [](const RungVerdict& between) { return !between.precision.empty(); };
      if (std::any_of(out.begin() + static_cast<std::ptrdiff_t>(*previous) + 1, out.end() - 1, skipped)) {
        verdict.notes.push_back(fmt::format("{} is compared with {}, the last rung before it in {}",
                                            rungs[i].lesson, rungs[*previous].lesson, verdict.precision));
      }
    }
    if (*baseline != i) verdict.on_baseline = speed_up(verdict, out[*baseline], rungs[*baseline].lesson);
    judge_parity(rungs[i], rungs[*baseline], out[*baseline], verdict);
  }
  return out;
}

}  // namespace isobar
