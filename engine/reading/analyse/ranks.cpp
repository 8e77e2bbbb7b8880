#include "analyse/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyse/pipe_idle.h"
#include "analyse/spread.h"
#include "launch/rank_status.h"
#include "log/run_reader.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLeastSteps = 5;
constexpr double kLastShare = 2.0 / 3;
constexpr double kKeptShare = 0.05;
constexpr double kLeastWaitShare = 1e-3;
constexpr double kStageShare = 0.5;  // share of the others' wait for a straggler, to name the stage
constexpr std::size_t kMostOverlapRanks = 16;

/// One step of a rank, with what its line has.
struct RankStep {
  double samples = 0;
  double step_us = 0;
  std::optional<double> comm_us;
  std::optional<double> waited_for;
  std::optional<double> waited_us;
};

/// The steps of one rank, of its newest attempt and as far as they were read.
class RankSteps {
 public:
  explicit RankSteps(const RunLog& log)
      : table_(log.series().steps()),
        begin_(table_.places.step.lower_bound(static_cast<double>(log.view().from_step))),
        models_(static_cast<double>(log.view().summary.replicas)) {}

  bool empty() const { return begin_ == end(); }
  std::int64_t first() const { return number_of_row(begin_); }
  std::int64_t last() const { return number_of_row(end() - 1); }
  /// Numbers of the steps in a range.
  std::vector<std::int64_t> numbers(StepRange range) const {
    std::vector<std::int64_t> out;
    for (std::size_t row = row_from(range.first); row < row_from(range.last + 1); ++row)
      out.push_back(number_of_row(row));
    return out;
  }
  /// Nothing where the rank did not make the step, or it was not read.
  std::optional<RankStep> at(std::int64_t step) const {
    const std::size_t row = row_from(step);
    if (row == end() || number_of_row(row) != step) return std::nullopt;
    RankStep out{.step_us = figure(step_us_, row).value_or(0),
                 .comm_us = figure(comm_us_, row),
                 .waited_for = figure(waited_for_, row),
                 .waited_us = figure(waited_us_, row)};
    // The rate is of all models, and was made of whole samples.
    out.samples = std::round(figure(rate_, row).value_or(0) * out.step_us * 1e-6) / models_;
    return out;
  }
  /// Mean of a field over those of some steps that have it.
  std::optional<double> mean(std::string_view field, StepRange steps) const {
    return figure(CurveRef{&table_.places, find(field)}.between(steps.first, steps.last).mean());
  }

 private:
  std::size_t end() const { return table_.places.step.size(); }
  std::int64_t number_of_row(std::size_t row) const {
    return static_cast<std::int64_t>(table_.places.step[row]);
  }
  std::size_t row_from(std::int64_t step) const {
    return std::max(begin_, table_.places.step.lower_bound(static_cast<double>(step)));
  }
  const Curve* find(std::string_view field) const { return table_.find("train/" + std::string(field)); }
  static std::optional<double> figure(std::optional<double> value) {
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
  }
  static std::optional<double> figure(const Curve* curve, std::size_t row) {
    return curve == nullptr ? std::nullopt : figure(curve->at_row(row));
  }

  const CurveTable& table_;
  std::size_t begin_;  ///< its first row
  double models_;
  const Curve* rate_ = find("samples_per_s");
  const Curve* step_us_ = find("step_us");
  const Curve* comm_us_ = find("comm_us");
  const Curve* waited_for_ = find("waited_for");
  const Curve* waited_us_ = find("waited_us");
};

/// Compares the steps that every rank with steps has. `warm` is the first step behind the warm-up of all.
void choose_steps(const std::vector<RankSteps>& ranks, std::int64_t warm, RanksView& view) {
  std::int64_t first = 0, last = INT64_MAX;
  for (const RankSteps& steps : ranks) {
    if (steps.empty()) continue;
    first = std::max(first, steps.first());
    last = std::min(last, steps.last());
  }
  view.last_step = last == INT64_MAX ? -1 : last;
  view.steady = last < INT64_MAX && warm <= last;
  // A run that is still warm: all but the very first step, which is like no other.
  view.first_step = std::max(first, view.steady ? warm : std::min(first + 1, view.last_step));
}

/// Mean of the figures that are known, if any is.
class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value || *value < 0) return;
    sum_ += *value;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

void add_means(const RankSteps& steps, StepRange common, RankFigures& out) {
  for (const auto& [name, figure] : kStepComm) out.*figure = steps.mean(name, common);
  out.step_us = steps.mean("step_us", common);
  out.comm_us = steps.mean("comm_us", common);
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (const auto mean_us = steps.mean(kStageKeys[i], common))
      out.stages_us.emplace_back(kStageNames[i], *mean_us);
  }
  double samples = 0, time_us = 0;
  for (const std::int64_t number : steps.numbers(common)) {
    const std::optional<RankStep> step = steps.at(number);
    samples += step->samples;
    time_us += step->step_us;
  }
  if (time_us > 0 && std::isfinite(samples)) out.samples_per_s = samples / time_us * 1e6;
}

/// Who came last in one step, and how long the one who waited longest waited.
struct Waiting {
  int last = -1;
  double kept_us = 0;
};

/// By rank: its part of one step, nothing for a rank without any.
using StepOfRanks = std::vector<std::optional<RankStep>>;

Waiting waiting_in(const StepOfRanks& at) {
  Waiting told, seen;
  double least = INFINITY;
  double most = 0;
  for (std::size_t rank = 0; rank < at.size(); ++rank) {
    if (!at[rank]) continue;
    const RankStep& step = *at[rank];
    if (step.waited_for && *step.waited_for < static_cast<double>(at.size()) && step.waited_us &&
        *step.waited_us >= told.kept_us)
      told = {static_cast<int>(*step.waited_for), *step.waited_us};
    if (!step.comm_us) continue;
    if (*step.comm_us < least) {
      least = *step.comm_us;
      seen.last = static_cast<int>(rank);
    }
    most = std::max(most, *step.comm_us);
  }
  if (told.last >= 0) return told;
  if (seen.last < 0) return seen;
  seen.kept_us = std::max(0.0, most - least);
  const RankStep& last = *at[static_cast<std::size_t>(seen.last)];
  if (seen.kept_us < kLeastWaitShare * last.step_us) return {};  // nobody waits for anybody
  return seen;
}

void name_stage(const RanksView& view, Straggler& out) {
  const RankFigures& slow = view.ranks[static_cast<std::size_t>(out.rank)];
  double most_us = kStageShare * out.kept_us;
  for (const auto& [stage, time_us] : slow.stages_us) {
    if (stage == "comm") continue;
    std::vector<double> others;
    for (const RankFigures& rank : view.ranks) {
      const std::optional<double> other_us = rank.stage_us(stage);
      if (rank.rank != out.rank && other_us) others.push_back(*other_us);
    }
    const double usual_us = Spread(others).median();
    if (others.empty() || time_us - usual_us < most_us) continue;
    most_us = time_us - usual_us;
    out.stage = stage;
    out.stage_us = time_us;
    out.others_stage_us = usual_us;
  }
}

std::vector<StepOfRanks> steps_of_all(const std::vector<RankSteps>& ranks, StepRange range) {
  std::vector<StepOfRanks> out;
  const auto lead = std::ranges::find_if(ranks, [](const RankSteps& one) { return !one.empty(); });
  if (lead == ranks.end()) return out;
  for (const std::int64_t number : lead->numbers(range)) {
    StepOfRanks& step = out.emplace_back();
    bool whole = true;
    for (const RankSteps& one : ranks) {
      step.push_back(one.at(number));
      whole = whole && (step.back() || one.empty());
    }
    if (!whole) out.pop_back();
  }
  return out;
}

std::optional<double> waited_in(const RankStep& step, const RankStep* last) {
  if (step.waited_for && step.waited_us) return step.waited_us;
  if (last == nullptr || !step.comm_us || !last->comm_us) return std::nullopt;
  return *step.comm_us - *last->comm_us;
}

/// Twice their median distance from their median: few steps of another length do not count.
double noise_of(const std::vector<double>& steps_us) {
  const double middle = Spread(steps_us).median();
  std::vector<double> distances;
  for (const double step_us : steps_us) distances.push_back(std::abs(step_us - middle));
  return 2 * Spread(distances).median();
}

/// Fills in who waited for whom, and names a straggler where there is one.
void compare_waits(const std::vector<RankSteps>& ranks, RanksView& view) {
  std::vector<Mean> waits(ranks.size());
  std::vector<std::vector<double>> kept(ranks.size());
  std::vector<std::int64_t> last_in(ranks.size());
  std::vector<double> steps_us;
  for (const StepOfRanks& at : steps_of_all(ranks, view.compared())) {
    ++view.steps;
    const Waiting waiting = waiting_in(at);
    const auto last_rank = static_cast<std::size_t>(std::max(0, waiting.last));
    const RankStep* const last = waiting.last >= 0 && at[last_rank] ? &*at[last_rank] : nullptr;
    for (std::size_t rank = 0; rank < at.size(); ++rank) {
      if (!at[rank]) continue;
      const bool is_last = static_cast<int>(rank) == waiting.last;
      steps_us.push_back(at[rank]->step_us);
      if (is_last) ++last_in[rank];
      if (waiting.last >= 0) kept[rank].push_back(is_last ? waiting.kept_us : 0);
      waits[rank].add(waited_in(*at[rank], last));
    }
  }
  view.step_us = Spread(steps_us).median();
  const double noise_us = noise_of(steps_us);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    view.ranks[rank].waits_us = waits[rank].value();
    const auto last = static_cast<double>(last_in[rank]);
    if (view.steps > 0) view.ranks[rank].last_in = last;
    const double most = kLastShare * static_cast<double>(view.steps);
    if (view.steps < kLeastSteps || view.world < 2 || last < most) continue;
    const double kept_us = Spread(kept[rank]).median();
    if (kept_us < std::max(kKeptShare * view.step_us, noise_us) || !(kept_us > 0)) continue;
    Straggler& found = view.straggler.emplace();
    found.rank = static_cast<int>(rank);
    found.kept_us = kept_us;
    found.of_step = kept_us / view.step_us;
    found.last_in = last_in[rank];
    name_stage(view, found);
  }
}

/// When the rank communicated, over those of the steps `wanted` that it traced, else over its steady traced
/// ones; nothing when it left no spans of communication.
std::optional<CommTimes> rank_comm_times(const fs::path& folder, int rank, StepRange wanted) {
  std::error_code code;
  if (!fs::exists(RunFolder{folder}.spans_file(rank), code)) return std::nullopt;
  SpanReader reader(folder, rank);
  reader.read_all();
  return comm_times(reader.table(), wanted);
}

/// Fills in what ran beside communication, from the spans of some ranks.
void add_overlap(const fs::path& folder, RanksView& view) {
  Mean overlap, last_bucket;
  for (std::size_t i = 0; view.world > 1 && i < std::min(view.ranks.size(), kMostOverlapRanks); ++i) {
    const std::optional<CommTimes> times = rank_comm_times(folder, static_cast<int>(i), view.compared());
    if (!times || !times->overlap) continue;
    overlap.add(*times->overlap);
    last_bucket.add(times->last_bucket);
    StepRange& all = view.comm.overlap_of;
    all = all.last < all.first
              ? times->steps
              : StepRange{std::min(all.first, times->steps.first), std::max(all.last, times->steps.last)};
  }
  view.comm.overlap = overlap.value();
  view.comm.last_bucket = last_bucket.value();
}

CommFigures comm_of(const RanksView& view) {
  Mean exposed, rate;
  std::array<Mean, kStepComm.size()> counts;
  for (const RankFigures& rank : view.ranks) {
    exposed.add(rank.comm_us);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i].add(rank.*kStepComm[i].second);
    if (rank.comm_total_us > 0 && rank.wire_bytes > 0)
      rate.add(*rank.wire_bytes / *rank.comm_total_us * 1e-3);
  }
  CommFigures out;
  for (std::size_t i = 0; i < counts.size(); ++i) out.*kStepComm[i].second = counts[i].value();
  out.exposed_us = exposed.value();
  out.busbw_gb_per_s = rate.value();
  return out;
}

/// Where a rank is by its status slot, else by its stream.
std::string doing_of(const std::optional<RankStatus>& status, const RankFigures& rank) {
  if (status) {
    if (status->phase == RankPhase::done) return "";
    std::string out = fmt::format("step {}", std::max<std::int64_t>(0, status->step) + 1);
    if (!status->stage.empty()) out += ", " + status->stage;
    if (status->phase == RankPhase::in_collective && !status->what.empty()) out += ", in " + status->what;
    if (status->phase == RankPhase::starting) out = "starting";
    return out;
  }
  return rank.state == RunState::died || rank.state == RunState::running
             ? fmt::format("step {}", rank.steps + 1)
             : "";
}

}  // namespace

bool RankFigures::is_lost() const {
  return !has_stream || state == RunState::died || state == RunState::failed;
}

std::optional<double> RankFigures::stage_us(const std::string& stage) const {
  for (const auto& [name, time_us] : stages_us) {
    if (name == stage) return time_us;
  }
  return std::nullopt;
}

int RanksView::hosts() const {
  std::set<std::string> names;
  for (const RankFigures& rank : ranks)
    if (!rank.host.empty()) names.insert(rank.host);
  return static_cast<int>(names.size());
}

double RanksView::samples_per_s() const {
  if (!steady) return 0;
  double least = INFINITY;
  for (const RankFigures& rank : ranks)
    if (rank.samples_per_s > 0) least = std::min(least, *rank.samples_per_s);
  return std::isfinite(least) ? least * static_cast<double>(replicas) : 0;
}

RanksView read_ranks(const fs::path& folder, std::uint64_t most_bytes) {
  RanksView view;
  const std::vector<int> found = ranks_in(folder);
  const RunSummary summary = glance(folder).summary;
  view.world = summary.world;
  if (!found.empty()) view.world = std::max<std::int64_t>(view.world, found.back() + 1);
  view.replicas = summary.replicas == summary.world ? view.world : summary.replicas;
  const int count = static_cast<int>(std::min<std::int64_t>(view.world, kMostRanks));
  view.left_out = view.world - count;
  view.stages_a_rank = stages_a_rank_in(folder);
  const std::uint64_t each = std::max<std::uint64_t>(8 << 10, most_bytes / static_cast<std::uint64_t>(count));
  std::vector<RunLog> logs(static_cast<std::size_t>(count), RunLog("", /*keeps_columns=*/true));
  std::int64_t warm = 0;
  for (int rank = 0; rank < count; ++rank) {
    RankFigures& figures = view.ranks.emplace_back();
    figures.rank = rank;
    if (std::binary_search(found.begin(), found.end(), rank)) {
      RunLog& log = logs[static_cast<std::size_t>(rank)] = read_ends(folder, rank, each);
      const RunView& said = log.view();
      figures.has_stream = true;
      figures.state = said.state;
      figures.reason = said.reason;
      figures.host = said.host;
      figures.steps = said.summary.steps;
      figures.peak_bytes = log.peak_bytes();
      if (!view.probe) view.probe = said.probe;
      if (log.series().step_rows() > 0) warm = std::max(warm, said.steady_from());
    }
    const std::optional<RankStatus> status = read_rank_status(folder, rank);
    figures.followed = status && status->phase == RankPhase::followed;
    figures.doing = doing_of(status, figures);
  }
  const std::vector<RankSteps> ranks(logs.begin(), logs.end());
  choose_steps(ranks, warm, view);
  const PipeIdle idle = pipe_idle(logs, view.first_step, view.last_step);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].empty()) add_means(ranks[rank], view.compared(), view.ranks[rank]);
    view.ranks[rank].pipe_idle = idle.ranks[rank];
  }
  compare_waits(ranks, view);
  view.comm = comm_of(view);
  view.comm.pipe_idle = idle.all;
  add_overlap(folder, view);
  return view;
}

}  // namespace isobar
