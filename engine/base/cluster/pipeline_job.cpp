// Steps of jobs whose models are cut by depth.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/axis_group.h"
#include "cluster/training_job.h"
#include "core/error.h"
#include "pipeline/course.h"

namespace isobar {
namespace {

constexpr double kMostActions = 200'000;

class PipelineSimulation {
 public:
  PipelineSimulation(const ClusterMachine& machine, const TrainingJob& job, const SimulationTerms& terms,
                     double compute_us)
      : machine_(machine), job_(job), terms_(terms) {
    const double actions = 3.0 * job.stages * job.chunks * job.accumulate;
    if (!(actions < kMostActions))
      throw Error(fmt::format("a pipeline of about {:.3g} actions", actions), "simulation",
                  fmt::format("at most {:g} of them are simulated", kMostActions));
    replicas_ = models_of(job);
    schedule_ = make_schedule(job.schedule, job.stages, job.chunks, job.accumulate);
    const double of_stage_us = compute_us / schedule_.stages,
                 plain_us = of_stage_us / (job.checkpoint ? 4 : 3);
    costs_ = PipelineCosts::equal(schedule_.stages, plain_us, of_stage_us - 2 * plain_us, plain_us);
    axes_ = axis_times(machine, job, terms.link);
    for (int stage = 0; stage + 1 < schedule_.stages; ++stage)
      costs_.boundary_us.push_back(message_us(stage));
  }

  SimulatedStep run() {
    const double jitter = machine_.jitter >= 0 ? machine_.jitter : terms_.jitter;
    const double slowest =
        std::max(0.05, 1 + jitter * normal_quantile((job_.gpus - 0.5) / job_.gpus)) * terms_.straggler;
    const int here = group_of(machine_, job_.gpus).ranks_per_node;
    const double sharing =
        machine_.gpus_per_node > 1 ? terms_.sharing * (here - 1) / (machine_.gpus_per_node - 1) : 0;
    const PipelineCourse even = course_with(1 + sharing, 1), slow = course_with(1 + sharing, slowest);
    const double passes = job_.accumulate * job_.chunks;
    SimulatedStep out;
    StepTerms& all = out.terms;
    all.forward_us = passes * costs_.forward_us[0];
    all.backward_us = passes * (costs_.input_us[0] + costs_.weight_us[0]);
    all.sharing_us = sharing * (all.forward_us + all.backward_us);
    const double sent_us = passes * (forward_sends_us() + backward_sends_us());
    all.bubble_us = even.step_us - sent_us - (1 + sharing) * (all.forward_us + all.backward_us);
    all.optimize_us = job_.optimizer_us * (job_.zero == 0 ? terms_.update : 1);
    all.jitter_us = slow.step_us - even.step_us + all.optimize_us * (slowest - 1);
    const double sum_us = sums_us(out);
    const double beside_us = job_.overlaps ? terms_.overlap * (costs_.input_us[0] + costs_.weight_us[0]) : 0;
    all.comm_us = sent_us + std::max(0.0, sum_us - beside_us) + axes_.behind_us;
    out.comm_total_us = sent_us + sum_us + axes_.behind_us;
    out.sent_bytes += axes_.behind_bytes + job_.accumulate * axes_.pass_bytes / job_.stages;
    add_messages(out);
    all.load_us = std::max(0.0, job_.load_us - all.step_us());
    out.activities = even.actions.size();
    return out;
  }

 private:
  // What ranks of a stage send each other in one of its actions.
  double forward_sends_us() const { return axes_.forward_us / schedule_.stages; }
  double backward_sends_us() const { return axes_.backward_us / schedule_.stages; }

  /// All stages so many times as long, those of the middle rank times `slowest` too: it sets the pace.
  PipelineCourse course_with(double factor, double slowest) const {
    PipelineCosts costs = costs_;
    for (std::size_t stage = 0; stage < costs.forward_us.size(); ++stage) {
      const bool is_slow = schedule_.rank_of_stage[stage] == job_.stages / 2;
      for (std::vector<double>* const times : {&costs.forward_us, &costs.input_us, &costs.weight_us})
        (*times)[stage] *= factor * (is_slow ? slowest : 1);
      costs.forward_us[stage] += forward_sends_us();
      costs.input_us[stage] += backward_sends_us();
    }
    return course_of(schedule_, costs);
  }

  /// Messages of the middle rank: it takes part in those over all boundaries of its stages, and sends half of
  /// them.
  void add_messages(SimulatedStep& out) const {
    const int rank = job_.stages / 2;
    for (std::size_t stage = 0; stage < costs_.boundary_us.size(); ++stage) {
      const int from = schedule_.rank_of_stage[stage], to = schedule_.rank_of_stage[stage + 1];
      if (from == to || (from != rank && to != rank)) continue;
      out.comm_total_us += 2 * job_.accumulate * costs_.boundary_us[stage];
      out.sent_bytes += job_.accumulate * job_.message_bytes;
    }
  }

  double message_us(int stage) const {
    const int stride = axis_stride(job_, "pp");
    const auto node_of = [&](int at) {
      return schedule_.rank_of_stage[static_cast<std::size_t>(at)] * stride / machine_.gpus_per_node;
    };
    const bool is_far = node_of(stage) != node_of(stage + 1);
    const NodeGroup pair = {.nodes = is_far ? 2 : 1, .ranks_per_node = is_far ? 1 : 2};
    const HopTimes hops = hop_times(machine_, CollectiveKind::send, pair, terms_.link,
                                    std::min(stride, machine_.gpus_per_node));
    if (!(job_.message_bytes > 0)) return 0;
    return terms_.link.call_us +
           collective_us(CollectiveKind::send, terms_.link.way, pair, hops, job_.message_bytes);
  }

  /// Gradients of a rank over the replicas, and with shared states its weights once a step.
  double sums_us(SimulatedStep& out) const {
    if (replicas_ == 1) return 0;
    const int stride = axis_stride(job_, "dp");
    const AxisGroup ranks = strided_group(machine_, replicas_, stride);
    const NodeGroup& group = ranks.ranks;
    const double parameters = job_.parameters / (job_.stages * job_.tensor);
    const auto cost_us = [&](CollectiveKind what, double bytes) {
      const double part = static_cast<double>(group.ranks() - 1) / group.ranks();
      out.sent_bytes += (what == CollectiveKind::all_reduce ? 2 : 1) * part * bytes;
      const HopTimes hops = hop_times(machine_, what, group, terms_.link, ranks.sharing);
      return terms_.link.call_us + collective_us(what, terms_.link.way, group, hops, bytes);
    };
    if (job_.zero == 0) return cost_us(CollectiveKind::all_reduce, parameters * job_.reduce_bytes);
    return cost_us(CollectiveKind::reduce_scatter, parameters * job_.reduce_bytes) +
           cost_us(CollectiveKind::all_gather, parameters * job_.gather_bytes);
  }

  const ClusterMachine& machine_;
  const TrainingJob& job_;
  const SimulationTerms& terms_;
  int replicas_ = 1;
  PipelineSchedule schedule_;
  PipelineCosts costs_;  ///< computing alone
  AxisTimes axes_ = {};
};

}  // namespace

SimulatedStep simulate_pipeline(const ClusterMachine& machine, const TrainingJob& job,
                                const SimulationTerms& terms, double compute_us) {
  return PipelineSimulation(machine, job, terms, compute_us).run();
}

}  // namespace isobar
