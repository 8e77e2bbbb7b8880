#include "analyse/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analyse/run_prediction.h"
#include "core/stage.h"
#include "core/text.h"
#include "log/run_files.h"

namespace isobar {
namespace {

constexpr double kMainShare = 0.5;  // share of the difference, for one part to be its main cause
constexpr std::size_t kParts = kStageNames.size() + 1;
using Times = std::array<double, kParts>;  // by stage, then the rest; of a step, in us

const RankFigures* waits_least(const RanksView& ranks) {
  const RankFigures* out = nullptr;
  for (const RankFigures& rank : ranks.ranks) {
    if (!rank.step_us || !rank.comm_us) continue;
    if (out == nullptr || rank.comm_us < out->comm_us) out = &rank;
  }
  return out;
}

std::optional<Times> times_of(const SteadyFigures& run) {
  Times out{};
  double step_us = run.mean("step_us").value_or(0);
  const RankFigures* const rank = run.ranks && run.ranks->steady ? waits_least(*run.ranks) : nullptr;
  if (rank != nullptr) step_us = *rank->step_us;
  if (run.steps == 0 || !(step_us > 0)) return std::nullopt;
  double known_us = 0;
  for (std::size_t i = 0; i + 1 < kParts; ++i) {
    const std::string field = std::string(kStageNames[i]) + "_us";
    out[i] = (rank != nullptr ? rank->stage_us(kStageNames[i]) : run.mean(field)).value_or(0);
    known_us += out[i];
  }
  if (!(known_us > 0)) return std::nullopt;  // a log without stages: there is nothing to set side by side
  out.back() = step_us - known_us;
  return out;
}

std::vector<Times> all_times(const Repeats& repeats) {
  std::vector<Times> out;
  for (const SteadyFigures& one : repeats) {
    if (const auto times = times_of(one)) out.push_back(*times);
  }
  return out;
}

double mean_of(const std::vector<Times>& repeats, std::size_t part) {
  double sum = 0;
  for (const Times& times : repeats) sum += times[part];
  return repeats.empty() ? 0 : sum / static_cast<double>(repeats.size());
}

Spread spread_of(const std::vector<Times>& repeats, std::size_t part, double scale) {
  std::vector<double> values;
  for (const Times& times : repeats) values.push_back(times[part] * scale);
  return Spread(values);
}

const char* part_name(std::size_t part) { return part + 1 == kParts ? "rest" : kStageNames[part]; }

std::string provenance_of(const RunView& view) {
  if (!view.replay_of.empty()) return "replayed";
  if (view.provenance.empty()) return "measured here";
  return view.provenance + (view.source.empty() ? "" : " with " + source_text(view));
}

std::string why_no_ratio(const RunCase& base, const RunCase& other, bool repeats) {
  const std::string one = provenance_of(base.view()), two = provenance_of(other.view());
  if (one != two) {
    const bool both = one.starts_with("recorded") && two.starts_with("recorded");
    return fmt::format("one is {}, the other {}: they make no ratio",
                       both ? provenance_text(base.view()) : one, both ? provenance_text(other.view()) : two);
  }
  if (one == "predicted") return "both are predicted by a model, and nobody measured them";
  if (repeats) return "their settings are the same, so one repeats the other and what differs is noise";
  return "";
}

/// The rank that keeps the others waiting in at least half of the repeats, for the mean over all of them.
std::optional<Straggler> straggler_of(const Repeats& repeats) {
  std::map<int, std::pair<std::size_t, Straggler>> seen;  // by rank; times are summed
  for (const SteadyFigures& run : repeats) {
    if (!run.ranks || !run.ranks->straggler) continue;
    const Straggler& one = *run.ranks->straggler;
    const auto [place, is_new] = seen.try_emplace(one.rank, 0, one);
    if (!is_new) place->second.second.kept_us += one.kept_us;
    ++place->second.first;
  }
  for (auto& [rank, times] : seen) {
    if (2 * times.first < repeats.size()) continue;
    times.second.kept_us /= static_cast<double>(repeats.size());
    return times.second;
  }
  return std::nullopt;
}

/// Whether `again` makes a repeat of it: it was made here, by a lesson of this tree with settings of this
/// tree.
bool can_be_made_again(const RunCase& one) {
  return one.view().is_measured_here() && !one.config.empty() &&
         settings_of(one.folder, one.view().lesson).has_value();
}

/// A step's time in which the training loop could have run and another program did.
double waited_for_processor_us(const Repeats& repeats) {
  const Spread waits = over(repeats, [](const SteadyFigures& run) {
    return std::max(0.0, run.view.summary.processor_wait) * run.mean("step_us").value_or(0);
  });
  return std::accumulate(waits.values.begin(), waits.values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, waits.values.size()));
}

class Comparing {
 public:
  Comparing(const RunCase& base, const RunCase& other)
      : base_(base),
        other_(other),
        repeats_(base.view().lesson == other.view().lesson && is_repeat(base.config, other.config)),
        base_times_(all_times(looked_at(base))),
        other_times_(all_times(looked_at(other))) {}

  RunComparison result() {
    RunComparison out;
    out.repeats = repeats_;
    out.no_ratio = why_no_ratio(base_, other_, repeats_);
    const Spread base_rate = rates(looked_at(base_)), other_rate = rates(looked_at(other_));
    out.base_repeats = base_rate.values.size();
    out.other_repeats = other_rate.values.size();
    out.recorded_apart = std::max(recorded_apart(base_.view()), recorded_apart(other_.view()));
    if (out.no_ratio.empty())
      out.speed = compare(other_rate, base_rate, far_apart(other_.repeats, base_.repeats));
    out.can_be_repeated = runs_missing(out, std::min(out.base_repeats, out.other_repeats)) > 0 &&
                          can_be_made_again(base_) && can_be_made_again(other_);
    add_stages(out);
    out.cause = cause_of(out);
    out.losses = compare_losses(base_.view(), base_.series, other_.view(), other_.series);
    return out;
  }

 private:
  Repeats looked_at(const RunCase& run) const {
    return repeats_ ? Repeats{run.repeats.front()} : run.repeats;
  }

  void add_stages(RunComparison& out) {
    const double base_samples = base_.samples_a_step(), other_samples = other_.samples_a_step();
    const bool by_sample = base_samples != other_samples && base_samples > 0 && other_samples > 0;
    out.per = by_sample ? "sample" : "step";
    base_scale_ = by_sample ? 1 / base_samples : 1;
    other_scale_ = by_sample ? 1 / other_samples : 1;
    out.step.stage = out.per;
    out.of_ranks = std::max(base_.view().summary.world, other_.view().summary.world) > 1;
    if (base_times_.empty() || other_times_.empty()) return;
    for (std::size_t i = 0; i < kParts; ++i) {
      const StageDifference part = {part_name(i), mean_of(base_times_, i) * base_scale_,
                                    mean_of(other_times_, i) * other_scale_};
      out.step.base_us += part.base_us;
      out.step.other_us += part.other_us;
      if (part.base_us != 0 || part.other_us != 0) out.stages.push_back(part);
    }
  }

  Cause cause_of(const RunComparison& out) const {
    const double more_us = out.step.more_us();
    const bool told_same = out.speed && out.speed->is_same();
    if (told_same || out.stages.empty() || std::fabs(more_us) <= kSmallestThatMatters * out.step.base_us)
      return {};
    const bool other_is_slower = more_us > 0;
    const RunCase& slower = other_is_slower ? other_ : base_;
    const RunCase& faster = other_is_slower ? base_ : other_;
    const double slower_scale = other_is_slower ? other_scale_ : base_scale_;
    const double faster_scale = other_is_slower ? base_scale_ : other_scale_;
    const auto is_main = [&](double part_us) { return part_us >= kMainShare * std::fabs(more_us); };
    const double waited_us = waited_for_processor_us(looked_at(slower)) * slower_scale -
                             waited_for_processor_us(looked_at(faster)) * faster_scale;
    if (slower.view().summary.is_crowded() && (!faster.view().summary.is_crowded() || is_main(waited_us)))
      return {Cause::Kind::other_programs, "", -1, more_us, false};
    if (repeats_) return {};
    const std::optional<Straggler> slow = straggler_of(slower.repeats);
    const std::optional<Straggler> earlier = straggler_of(faster.repeats);
    if (slow) {
      const double kept_us = slow->kept_us * slower_scale - (earlier ? earlier->kept_us * faster_scale : 0);
      if (is_main(kept_us))
        return {Cause::Kind::straggler, slow->stage, slow->rank, other_is_slower ? kept_us : -kept_us, false};
    }
    const StageDifference* const largest = out.largest();
    if (largest == nullptr || largest->more_us() / more_us < kMainShare) return {};
    return {Cause::Kind::stage, largest->stage, -1, largest->more_us(), is_told(largest->stage)};
  }

  bool is_told(const std::string& stage) const {
    for (std::size_t i = 0; i < kParts; ++i) {
      if (stage != part_name(i)) continue;
      const Spread one = spread_of(other_times_, i, other_scale_),
                   two = spread_of(base_times_, i, base_scale_);
      if (std::min(one.values.size(), two.values.size()) < kLeastRepeats) return false;
      if (one.most() <= 0 || two.most() <= 0)
        return one.least() > 0 || two.least() > 0;  // one never enters it
      const auto found = compare(one, two);
      return found && found->is_told();
    }
    return false;
  }

  const RunCase& base_;
  const RunCase& other_;
  bool repeats_;
  std::vector<Times> base_times_, other_times_;
  double base_scale_ = 1, other_scale_ = 1;
};

/// "12.3 of 13.0 ms a step less"; where other parts took less meanwhile, "15.1 ms a step more (13.0 in all)".
std::string part_text(const RunComparison& found) {
  const double part_ms = std::fabs(found.cause.more_us) * 1e-3;
  const double all_ms = std::fabs(found.step.more_us()) * 1e-3;
  const int digits = all_ms >= 100 ? 0 : all_ms >= 10 ? 1 : all_ms >= 1 ? 2 : 3;
  const std::string part = fmt::format("{:.{}f}", part_ms, digits),
                    all = fmt::format("{:.{}f}", all_ms, digits);
  const std::string more = fmt::format("ms a {} {}", found.per, found.cause.more_us > 0 ? "more" : "less");
  return part_ms > all_ms && part != all ? fmt::format("{} {} ({} in all)", part, more, all)
                                         : fmt::format("{} of {} {}", part, all, more);
}

/// "from one run each, and repeats of one setting were recorded at most 1.29 times apart".
std::string few_runs_text(const RunComparison& found) {
  const bool is_one = found.base_repeats == 1 && found.other_repeats == 1;
  return fmt::format(
      "from {}, and repeats of one setting were recorded at most {:.2f} times apart",
      is_one ? "one run each" : fmt::format("{} and {} runs", found.other_repeats, found.base_repeats),
      found.recorded_apart);
}

/// Without "; ": the window shows in bold what stands before the first one.
std::string speed_text(const RunComparison& found, const std::string& base, const std::string& other) {
  if (!found.no_ratio.empty()) return fmt::format("{} and {}: {}", base, other, found.no_ratio);
  if (!found.speed)
    return fmt::format("Whether {} is faster than {} cannot be told: {} step after its warm-up", other, base,
                       found.base_repeats == 0 && found.other_repeats == 0 ? "neither has a"
                       : found.base_repeats == 0                           ? base + " has no"
                                                                           : other + " has no");
  const Compared& speed = *found.speed;
  if (speed.is_of_few)
    return fmt::format("{} is {} than {}: {:.{}f} times as fast ({})", other,
                       speed.direction == Direction::more ? "faster" : "slower", base, speed.ratio,
                       speed.ratio < 1 ? 2 : 1, few_runs_text(found));
  const std::string of = fmt::format("{:.2f} to {:.2f}, {} and {} runs", speed.low, speed.high,
                                     found.other_repeats, found.base_repeats);
  switch (speed.direction) {
    case Direction::unknown:
      return fmt::format(
          "Whether {0} is faster than {1} cannot be told: {2} runs of each are needed, {1} has {3} and {0} "
          "has {4}",
          other, base, speed.repeats_needed, found.base_repeats, found.other_repeats);
    case Direction::same:
      return fmt::format("{} is as fast as {} ({}{})", other, base, of,
                         speed.repeats_needed == 0
                             ? ""
                             : fmt::format(", and {}{} of each would confirm a difference as large as seen",
                                           speed.repeats_needed,
                                           speed.repeats_needed == kMostRepeatsNeeded ? " or more" : ""));
    default:
      return fmt::format("{} is {} than {}: {:.2f} times as fast ({})", other,
                         speed.direction == Direction::more ? "faster" : "slower", base, speed.ratio, of);
  }
}

std::string cause_text(const RunComparison& found) {
  const Cause& cause = found.cause;
  const bool is_told = found.speed && found.speed->is_told();
  const std::string so = is_told ? "" : "in these runs ";
  const std::string of = part_text(found);
  switch (cause.kind) {
    case Cause::Kind::other_programs:
      return so + "other programs took part of the processors beside the slower one: its rates are low";
    case Cause::Kind::straggler:
      return fmt::format("{}main cause: rank {} keeps the others waiting{}, {}", so, cause.rank,
                         cause.stage.empty() ? "" : " in " + cause.stage, of);
    case Cause::Kind::stage:
      return fmt::format("{}{}: {}, {}", so, cause.is_sure || !is_told ? "main cause" : "most likely cause",
                         cause.stage, of);
    default:
      return is_told ? "no single part takes half of the difference" : "";
  }
}

std::string again(const RunCase& one) {
  return fmt::format("./isobar run {} --config {}", shell_quoted(one.view().lesson),
                     shell_quoted((one.folder / "run.toml").string()));
}

}  // namespace

const StageDifference* RunComparison::largest() const {
  const StageDifference* out = nullptr;
  const double sign = step.more_us() < 0 ? -1 : 1;
  for (const StageDifference& part : stages) {
    if (sign * part.more_us() > (out == nullptr ? 0 : sign * out->more_us())) out = &part;
  }
  return out;
}

RunComparison compare_runs(const RunCase& base, const RunCase& other) {
  return Comparing(base, other).result();
}

std::vector<RunComparison> compare_with_first(const std::vector<RunCase>& cases) {
  std::vector<RunComparison> out;
  for (std::size_t i = 1; i < cases.size(); ++i) out.push_back(compare_runs(cases.front(), cases[i]));
  return out;
}

std::string versus_text(const RunComparison& comparison) {
  if (comparison.repeats) return "repeats A";
  return comparison.speed && comparison.no_ratio.empty() ? ratio_text(*comparison.speed) : "-";
}

std::string comparison_sentence(const RunComparison& comparison, const std::string& base,
                                const std::string& other) {
  std::string out = speed_text(comparison, base, other);
  if (const std::string cause = cause_text(comparison); !cause.empty()) out += "; " + cause;
  if (const std::string losses = comparison.losses.text(); !losses.empty()) out += "; losses are " + losses;
  return out + ".";
}

std::size_t runs_missing(const RunComparison& comparison, std::size_t repeats) {
  if (!comparison.no_ratio.empty() || !comparison.speed) return 0;
  const std::size_t wanted = comparison.speed->repeats_needed;
  if (wanted == kMostRepeatsNeeded || wanted <= repeats) return 0;
  return wanted - repeats;
}

std::string repeats_command(const RunCase& base, const RunCase& other, const RunComparison& found) {
  const std::size_t missing = runs_missing(found, std::min(found.base_repeats, found.other_repeats));
  if (missing == 0 || !found.can_be_repeated) return "";
  const std::string both = again(base) + "; " + again(other);
  return missing == 1 ? both : fmt::format("for i in $(seq {}); do {}; done", missing, both);
}

}  // namespace isobar
