// Steps of jobs whose models are cut by depth.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/training_job.h"
#include "core/error.h"
#include "core/text.h"
#include "pipeline/course.h"

namespace isobar {
namespace {

constexpr double kMostActions = 200'000;

/// How far apart neighbours of an axis are, in ranks.
int stride_of(const TrainingJob& job, std::string_view wanted) {
  int out = 1;
  for (const std::string& axis : split(job.order, '-')) {
    if (axis == wanted) return out;
    const int dp = job.gpus / (job.tensor * job.stages);
    out *= axis == "tp" ? job.tensor : axis == "pp" ? job.stages : axis == "dp" ? dp : 1;
  }
  throw Error(fmt::format("{} names no axis {}", printable(job.order, 40), wanted), "order", "tp-cp-dp-pp");
}

class PipelineSimulation {
 public:
  PipelineSimulation(const ClusterMachine& machine, const TrainingJob& job, const SimulationTerms& terms,
                     double compute_us)
      : machine_(machine), job_(job), terms_(terms) {
    const int model = job.stages * job.tensor;
    if (job.gpus % model != 0)
      throw Error(fmt::format("{} ranks in models of {}", job.gpus, model), "job.gpus", "whole models");
    const double actions = 3.0 * job.stages * job.chunks * job.accumulate;
    if (!(actions < kMostActions))
      throw Error(fmt::format("a pipeline of about {:.3g} actions", actions), "simulation",
                  fmt::format("at most {:g} of them are simulated", kMostActions));
    replicas_ = job.gpus / model;
    schedule_ = make_schedule(job.schedule, job.stages, job.chunks, job.accumulate);
    const double of_stage_us = compute_us / schedule_.stages,
                 plain_us = of_stage_us / (job.checkpoint ? 4 : 3);
    costs_ = PipelineCosts::equal(schedule_.stages, plain_us, of_stage_us - 2 * plain_us, plain_us);
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
    all.bubble_us = even.step_us - (1 + sharing) * (all.forward_us + all.backward_us);
    all.optimize_us = job_.optimizer_us * (job_.zero == 0 ? terms_.update : 1);
    all.jitter_us = slow.step_us - even.step_us + all.optimize_us * (slowest - 1);
    const double sum_us = sums_us(out);
    const double beside_us = job_.overlaps ? terms_.overlap * (costs_.input_us[0] + costs_.weight_us[0]) : 0;
    all.comm_us = std::max(0.0, sum_us - beside_us);
    out.comm_total_us = sum_us;
    add_messages(out);
    all.load_us = std::max(0.0, job_.load_us - all.step_us());
    out.activities = even.actions.size();
    return out;
  }

 private:
  /// All stages so many times as long, those of the middle rank times `slowest` too: it sets the pace.
  PipelineCourse course_with(double factor, double slowest) const {
    PipelineCosts costs = costs_;
    for (std::size_t stage = 0; stage < costs.forward_us.size(); ++stage) {
      const bool is_slow = schedule_.rank_of_stage[stage] == job_.stages / 2;
      for (std::vector<double>* const times : {&costs.forward_us, &costs.input_us, &costs.weight_us})
        (*times)[stage] *= factor * (is_slow ? slowest : 1);
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
    const int stride = stride_of(job_, "pp");
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
    const int stride = stride_of(job_, "dp");
    const int here = std::clamp(machine_.gpus_per_node / stride, 1, replicas_);
    const NodeGroup group = {.nodes = (replicas_ + here - 1) / here, .ranks_per_node = here};
    const double parameters = job_.parameters / (job_.stages * job_.tensor);
    const auto cost_us = [&](CollectiveKind what, double bytes) {
      const double part = static_cast<double>(group.ranks() - 1) / group.ranks();
      out.sent_bytes += (what == CollectiveKind::all_reduce ? 2 : 1) * part * bytes;
      const HopTimes hops =
          hop_times(machine_, what, group, terms_.link, std::min(stride, machine_.gpus_per_node));
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
  PipelineCosts costs_;
};

}  // namespace

SimulatedStep simulate_pipeline(const ClusterMachine& machine, const TrainingJob& job,
                                const SimulationTerms& terms, double compute_us) {
  return PipelineSimulation(machine, job, terms, compute_us).run();
}

}  // namespace isobar
