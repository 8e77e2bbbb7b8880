#include "analyse/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyse/run_reader.h"
#include "analyse/spread.h"
#include "launch/rank_status.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLeastSteps = 5;
constexpr double kLastShare = 2.0 / 3;
constexpr double kKeptShare = 0.05;
constexpr double kLeastWaitShare = 1e-3;
constexpr double kStageShare = 0.5;  // of what a straggler keeps the others waiting, to name the stage
constexpr std::size_t kMostOverlapRanks = 16;

/// The steps that every rank with steps has.
struct Common {
  std::int64_t first = 0;
  std::int64_t last = -1;
  bool steady = false;
};

Common common_steps(const std::vector<RankStream>& streams) {
  Common out;
  std::int64_t first = 0;
  std::int64_t warm = 0;
  std::int64_t last = INT64_MAX;
  bool any = false;
  for (const RankStream& stream : streams) {
    if (stream.steps.empty()) continue;
    any = true;
    first = std::max(first, stream.steps.front().step);
    last = std::min(last, stream.steps.back().step);
    warm = std::max(warm, stream.view.steady_from());
  }
  if (!any) return out;
  out.steady = warm <= last;
  // A run that is still warm: all but the very first step, which is like no other.
  out.first = std::max(first, out.steady ? warm : std::min<std::int64_t>(first + 1, last));
  out.last = last;
  return out;
}

/// Mean of a figure over steps that have it; -1 when none has.
class Mean {
 public:
  void add(double value) {
    if (value < 0 || !std::isfinite(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? -1 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

class MeanCounts {
 public:
  void add(const StepComm& one) {
    for (std::size_t i = 0; i < means_.size(); ++i) means_[i].add(one.*kStepComm[i].second);
  }
  void put_into(StepComm& out) const {
    for (std::size_t i = 0; i < means_.size(); ++i) out.*kStepComm[i].second = means_[i].value();
  }

 private:
  std::array<Mean, kStepComm.size()> means_;
};

void add_means(const RankStream& stream, const Common& common, RankFigures& out) {
  Mean step_us, comm_us;
  MeanCounts counts;
  std::vector<Mean> stages(kStages);
  double samples = 0;
  double time_us = 0;
  for (const RankStep& step : stream.steps) {
    if (step.step < common.first || step.step > common.last) continue;
    step_us.add(step.step_us);
    comm_us.add(step.comm_us());
    counts.add(step);
    for (std::size_t i = 0; i < stages.size(); ++i) stages[i].add(step.stages_us[i]);
    samples += step.samples;
    time_us += step.step_us;
  }
  out.step_us = step_us.value();
  out.comm_us = comm_us.value();
  counts.put_into(out);
  if (time_us > 0 && std::isfinite(samples)) out.samples_per_s = samples / time_us * 1e6;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].value() >= 0) out.stages_us.emplace_back(kStageNames[i], stages[i].value());
  }
}

/// Who came last in one step, and how long the one who waited longest waited.
struct Waiting {
  int last = -1;
  double kept_us = 0;
};

Waiting waiting_in(const std::vector<const RankStep*>& at) {
  Waiting told, seen;
  double least = INFINITY;
  double most = 0;
  for (std::size_t rank = 0; rank < at.size(); ++rank) {
    if (at[rank] == nullptr) continue;
    const RankStep& step = *at[rank];
    if (step.waited_for >= 0 && step.waited_for < static_cast<double>(at.size()) &&
        step.waited_us >= told.kept_us)
      told = {static_cast<int>(step.waited_for), step.waited_us};
    if (step.comm_us() < 0) continue;
    if (step.comm_us() < least) {
      least = step.comm_us();
      seen.last = static_cast<int>(rank);
    }
    most = std::max(most, step.comm_us());
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
      if (rank.rank != out.rank && rank.stage_us(stage) >= 0) others.push_back(rank.stage_us(stage));
    }
    const double usual_us = Spread(others).median();
    if (others.empty() || time_us - usual_us < most_us) continue;
    most_us = time_us - usual_us;
    out.stage = stage;
    out.stage_us = time_us;
    out.others_stage_us = usual_us;
  }
}

/// The steps that all ranks with steps have, between two others, one after the other.
class StepsInTurn {
 public:
  StepsInTurn(const std::vector<RankStream>& streams, const Common& common)
      : streams_(streams), common_(common), next_(streams.size(), 0), at_(streams.size(), nullptr) {}

  /// The step of each rank, null for a rank without any; nothing when there is no more.
  const std::vector<const RankStep*>* next() {
    for (;;) {
      bool any = false;
      std::int64_t wanted = common_.first;
      for (std::size_t rank = 0; rank < at_.size(); ++rank) {
        if (streams_[rank].steps.empty()) continue;
        any = true;
        if (!seek(rank, common_.first)) return nullptr;
        wanted = std::max(wanted, streams_[rank].steps[next_[rank]].step);
      }
      if (!any || wanted > common_.last) return nullptr;
      bool whole = true;
      for (std::size_t rank = 0; rank < at_.size(); ++rank) {
        if (streams_[rank].steps.empty()) continue;
        if (!seek(rank, wanted)) return nullptr;
        at_[rank] = &streams_[rank].steps[next_[rank]];
        whole = whole && at_[rank]->step == wanted;
      }
      if (!whole) continue;
      for (std::size_t& place : next_) ++place;
      return &at_;
    }
  }

 private:
  bool seek(std::size_t rank, std::int64_t step) {
    const std::vector<RankStep>& steps = streams_[rank].steps;
    while (next_[rank] < steps.size() && steps[next_[rank]].step < step) ++next_[rank];
    return next_[rank] < steps.size();
  }

  const std::vector<RankStream>& streams_;
  Common common_;
  std::vector<std::size_t> next_;
  std::vector<const RankStep*> at_;
};

/// What this rank waited in a step, -1 = not known.
double waited_in(const RankStep& step, const RankStep* last) {
  if (step.waited_for >= 0 && step.waited_us >= 0) return step.waited_us;
  if (last == nullptr || step.comm_us() < 0 || last->comm_us() < 0) return -1;
  return step.comm_us() - last->comm_us();
}

/// Twice their median distance from their median: few steps of another length do not count.
double noise_of(const std::vector<double>& steps_us) {
  const double middle = Spread(steps_us).median();
  std::vector<double> distances;
  for (const double step_us : steps_us) distances.push_back(std::abs(step_us - middle));
  return 2 * Spread(distances).median();
}

/// Fills in who waited for whom, and names a straggler where there is one.
void compare_waits(const std::vector<RankStream>& streams, const Common& common, RanksView& view) {
  std::vector<Mean> waits(streams.size());
  std::vector<std::vector<double>> kept(streams.size());
  std::vector<double> steps_us;
  StepsInTurn steps(streams, common);
  while (const auto* const at = steps.next()) {
    ++view.steps;
    const Waiting waiting = waiting_in(*at);
    const RankStep* const last = waiting.last < 0 ? nullptr : (*at)[static_cast<std::size_t>(waiting.last)];
    for (std::size_t rank = 0; rank < at->size(); ++rank) {
      const RankStep* const step = (*at)[rank];
      if (step == nullptr) continue;
      steps_us.push_back(step->step_us);
      if (step == last) ++view.ranks[rank].last_in;
      if (waiting.last >= 0) kept[rank].push_back(step == last ? waiting.kept_us : 0);
      waits[rank].add(waited_in(*step, last));
    }
  }
  view.step_us = Spread(steps_us).median();
  const double noise_us = noise_of(steps_us);
  for (std::size_t rank = 0; rank < streams.size(); ++rank) {
    view.ranks[rank].waits_us = waits[rank].value();
    const std::int64_t last_in = view.ranks[rank].last_in;
    const auto most = kLastShare * static_cast<double>(view.steps);
    if (view.steps < kLeastSteps || view.world < 2 || static_cast<double>(last_in) < most) continue;
    const double kept_us = Spread(kept[rank]).median();
    if (kept_us < std::max(kKeptShare * view.step_us, noise_us) || !(kept_us > 0)) continue;
    Straggler& found = view.straggler.emplace();
    found.rank = static_cast<int>(rank);
    found.kept_us = kept_us;
    found.of_step = kept_us / view.step_us;
    found.last_in = last_in;
    name_stage(view, found);
  }
}

/// Fills in what ran beside communication, from the spans of some ranks.
void add_overlap(const fs::path& folder, RanksView& view) {
  Mean overlap, last_bucket;
  for (std::size_t i = 0; view.world > 1 && i < std::min(view.ranks.size(), kMostOverlapRanks); ++i) {
    const std::optional<CommTimes> times = rank_comm_times(folder, static_cast<int>(i), view.compared());
    if (!times || !times->overlap) continue;
    overlap.add(*times->overlap);
    last_bucket.add(times->last_bucket.value_or(-1));
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
  MeanCounts counts;
  for (const RankFigures& rank : view.ranks) {
    exposed.add(rank.comm_us);
    counts.add(rank);
    if (rank.comm_total_us > 0 && rank.wire_bytes > 0) rate.add(rank.wire_bytes / rank.comm_total_us * 1e-3);
  }
  CommFigures out;
  counts.put_into(out);
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

double RankFigures::stage_us(const std::string& stage) const {
  for (const auto& [name, time_us] : stages_us) {
    if (name == stage) return time_us;
  }
  return -1;
}

int RanksView::hosts() const {
  std::set<std::string> names;
  for (const RankFigures& rank : ranks) {
    if (!rank.host.empty()) names.insert(rank.host);
  }
  return static_cast<int>(names.size());
}

double RanksView::samples_per_s() const {
  if (!steady) return 0;
  double least = INFINITY;
  for (const RankFigures& rank : ranks) {
    if (rank.samples_per_s > 0) least = std::min(least, rank.samples_per_s);
  }
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
  const std::uint64_t each = std::max<std::uint64_t>(8 << 10, most_bytes / static_cast<std::uint64_t>(count));
  std::vector<RankStream> streams(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    RankFigures& figures = view.ranks.emplace_back();
    figures.rank = rank;
    if (std::binary_search(found.begin(), found.end(), rank)) {
      RankStream& stream = streams[static_cast<std::size_t>(rank)];
      stream = read_rank_stream(folder, rank, each);
      figures.has_stream = true;
      figures.state = stream.view.state;
      figures.reason = stream.view.reason;
      figures.host = stream.view.host;
      figures.steps = stream.view.summary.steps;
      figures.peak_bytes = stream.peak_bytes;
      if (!view.probe && stream.probe) view.probe = stream.probe;
    }
    const std::optional<RankStatus> status = read_rank_status(folder, rank);
    figures.followed = status && status->phase == RankPhase::followed;
    figures.doing = doing_of(status, figures);
  }
  const Common common = common_steps(streams);
  view.first_step = common.first;
  view.last_step = common.last;
  view.steady = common.steady;
  for (int rank = 0; rank < count; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (!streams[i].steps.empty()) add_means(streams[i], common, view.ranks[i]);
  }
  compare_waits(streams, common, view);
  view.comm = comm_of(view);
  add_overlap(folder, view);
  return view;
}

std::vector<const RankFigures*> shown_ranks(const RanksView& view, std::size_t most_rows) {
  std::vector<const RankFigures*> out;
  for (const RankFigures& rank : view.ranks) out.push_back(&rank);
  if (out.size() <= most_rows) return out;
  std::stable_sort(out.begin(), out.end(), [](const RankFigures* one, const RankFigures* other) {
    if (one->is_lost() != other->is_lost()) return one->is_lost();
    return one->last_in > other->last_in;
  });
  out.resize(most_rows);
  std::sort(out.begin(), out.end(),
            [](const RankFigures* one, const RankFigures* other) { return one->rank < other->rank; });
  return out;
}

}  // namespace isobar
