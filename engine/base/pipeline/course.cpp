#include "pipeline/course.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "pipeline/needs_of.h"

namespace isobar {
namespace {

double time_of(const PipelineCosts& costs, const PipelineAction& action) {
  const auto stage = static_cast<std::size_t>(action.stage);
  switch (action.work) {
    case PipelineWork::forward:
      return costs.forward_us[stage];
    case PipelineWork::input:
      return costs.input_us[stage];
    case PipelineWork::weight:
      return costs.weight_us[stage];
    case PipelineWork::backward:
      break;
  }
  return costs.input_us[stage] + costs.weight_us[stage];
}

/// Each rank works in its order, on an action when all that it needs has come.
class CourseClock {
 public:
  CourseClock(const PipelineSchedule& schedule, const PipelineCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        table_(schedule),
        ends_(table_.size(), kNever),
        arrivals_(table_.size(), kNever),
        left_us_(schedule.ranks.size(), kNever),
        placed_(schedule.ranks.size()) {}

  std::vector<std::vector<PlacedAction>> run() && {
    while (true) {
      double next = begin_ready();
      const auto running =
          std::count_if(left_us_.begin(), left_us_.end(), [](double us) { return us != kNever; });
      const double slower =
          costs_.at_once > 0 ? std::max(1.0, static_cast<double>(running) / costs_.at_once) : 1;
      for (const double us : left_us_)
        if (us != kNever) next = std::min(next, now_ + us * slower);
      if (next == kNever) return std::move(placed_);
      advance(next, slower);
    }
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Begins what can begin now; when the next message comes for which a rank waits.
  double begin_ready() {
    double next = kNever;
    for (std::size_t rank = 0; rank < placed_.size(); ++rank) {
      const auto& row = schedule_.ranks[rank];
      if (left_us_[rank] != kNever || placed_[rank].size() == row.size()) continue;
      const PipelineAction& action = row[placed_[rank].size()];
      const double ready = ready_at(action, rank);
      if (ready > now_) {
        next = std::min(next, ready);
        continue;
      }
      placed_[rank].push_back({static_cast<int>(rank), action, now_, now_});
      left_us_[rank] = time_of(costs_, action);
    }
    return next;
  }

  double ready_at(const PipelineAction& action, std::size_t rank) const {
    const auto needs = table_.needs_of(action);
    double out = 0;
    for (int next = 0; next < needs.count; ++next) {
      const PipelineAction& before = needs.actions[static_cast<std::size_t>(next)];
      const bool is_own = table_.rank_of(before) == static_cast<int>(rank);
      out = std::max(out, (is_own ? ends_ : arrivals_)[table_.index(before)]);
    }
    return out;
  }

  void advance(double to, double slower) {
    const double worked = (to - now_) / slower;
    now_ = to;
    for (std::size_t rank = 0; rank < placed_.size(); ++rank) {
      if (left_us_[rank] == kNever) continue;
      left_us_[rank] -= worked;
      PlacedAction& placed = placed_[rank].back();
      if (left_us_[rank] > kRounding * std::max(1.0, to)) continue;
      left_us_[rank] = kNever;
      placed.end_us = ends_[table_.index(placed.action)] = to;
      send(placed.action, to);
    }
  }

  /// A rank's actions end one behind the other, so that its messages leave in this order.
  void send(const PipelineAction& action, double end) {
    const bool is_forward = action.work == PipelineWork::forward;
    const int to = action.stage + (is_forward ? 1 : -1);
    if (action.work == PipelineWork::weight || to < 0 || to >= schedule_.stages) return;
    const int from_rank = table_.rank_of(action),
              to_rank = schedule_.rank_of_stage[static_cast<std::size_t>(to)];
    if (from_rank == to_rank) return;
    double& channel = channels_[{from_rank, to_rank, is_forward}];
    channel = std::max(channel, end) + message_us(std::min(action.stage, to));
    arrivals_[table_.index(action)] = channel;
  }

  double message_us(int boundary) const {
    return costs_.boundary_us.empty() ? costs_.message_us
                                      : costs_.boundary_us[static_cast<std::size_t>(boundary)];
  }

  static constexpr double kRounding = 1e-12;

  const PipelineSchedule& schedule_;
  const PipelineCosts& costs_;
  ActionTable table_;
  std::vector<double> ends_;
  std::vector<double> arrivals_;
  std::vector<double> left_us_;  ///< work left of each rank's action; kNever = it has none
  std::vector<std::vector<PlacedAction>> placed_;
  std::map<std::tuple<int, int, bool>, double> channels_ = {};
  double now_ = 0;
};

}  // namespace

PipelineCosts PipelineCosts::equal(int stages, double forward_us, double input_us, double weight_us,
                                   double message_us) {
  const auto all = [&](double value) { return std::vector<double>(static_cast<std::size_t>(stages), value); };
  return {all(forward_us), all(input_us), all(weight_us), message_us, {}, 0};
}

double PipelineCourse::idle_share() const {
  const double busy = std::accumulate(busy_us.begin(), busy_us.end(), 0.0);
  return 1 - busy / (static_cast<double>(busy_us.size()) * step_us);
}

double PipelineCourse::idle_of_ideal() const {
  const double busy = std::accumulate(busy_us.begin(), busy_us.end(), 0.0);
  return static_cast<double>(busy_us.size()) * step_us / busy - 1;
}

PipelineCourse course_of(const PipelineSchedule& schedule, const PipelineCosts& costs) {
  PipelineCourse out;
  for (const auto& row : CourseClock(schedule, costs).run()) {
    double busy = 0;
    KeptCount kept;
    for (const PlacedAction& placed : row) {
      kept.pass(placed.action.work);
      busy += placed.end_us - placed.begin_us;
      out.step_us = std::max(out.step_us, placed.end_us);
      out.actions.push_back(placed);
    }
    out.busy_us.push_back(busy);
    out.peak_kept.push_back(kept.most());
  }
  return out;
}

double idle_us(PipelineForm form, std::int64_t ranks, double forward_us, double input_us, double weight_us) {
  const auto others = static_cast<double>(ranks - 1);
  if (form == PipelineForm::zb_v) return others * forward_us;
  return others * (forward_us + input_us + (form == PipelineForm::zb_h1 ? -weight_us : weight_us));
}

double bubble_of_step(std::int64_t ranks, std::int64_t parts, std::int64_t stages_a_rank) {
  return static_cast<double>(ranks - 1) / static_cast<double>(stages_a_rank * parts + ranks - 1);
}

double bubble_of_ideal(std::int64_t ranks, std::int64_t parts, std::int64_t stages_a_rank) {
  return static_cast<double>(ranks - 1) / static_cast<double>(stages_a_rank * parts);
}

}  // namespace isobar
