// Steps of jobs whose models are no pipelines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "cluster/axis_group.h"
#include "cluster/events.h"
#include "cluster/training_job.h"
#include "core/error.h"

namespace isobar {
namespace {

using Id = EventSimulation::Id;
using Ids = std::vector<Id>;

constexpr int kStepsAhead = 2;          // batches read before they are asked for
constexpr int kGathersInFlight = 2;     // units whose weights a rank holds at once
constexpr double kMostUnits = 200'000;  // messages of a step
constexpr int kReadSteps = 5;           // after so many the loader's rhythm is that of the step

/// Ranks that come and go together in all collectives of a step, with the streams of each.
class StepSimulation {
 public:
  StepSimulation(const ClusterMachine& machine, const TrainingJob& job, const SimulationTerms& terms,
                 double compute_us, SimulatedRanks which)
      : machine_(machine),
        job_(job),
        terms_(terms),
        models_(models_of(job)),
        shards_(job.shard_group > 0 ? job.shard_group : models_) {
    if (models_ % shards_ != 0)
      throw Error(fmt::format("{} ranks in groups of {}", models_, shards_), "shard_group",
                  "groups of equal size");
    job_.parameters /= job.tensor;
    job_.outer_parameters /= job.tensor;
    axes_ = axis_times(machine, job, terms.link);
    check_size();
    const double jitter = machine.jitter >= 0 ? machine.jitter : terms.jitter;
    if (!(terms.straggler >= 1))
      throw Error(fmt::format("a straggler that takes {:g} times as long", terms.straggler), "straggler",
                  "1 or more");
    const auto slowness = [&](int rank) { return 1 + jitter * normal_quantile((rank + 0.5) / job.gpus); };
    if (which == SimulatedRanks::slowest) {
      slowness_ = {slowness(job.gpus - 1)};
    } else {
      for (int rank = 0; rank < job.gpus; ++rank) slowness_.push_back(slowness(rank));
    }
    if (job.gpus > 1) slowness_.back() *= terms.straggler;
    const int here = group_of(machine, job.gpus).ranks_per_node;
    if (machine.gpus_per_node > 1) sharing_ = terms.sharing * (here - 1) / (machine.gpus_per_node - 1);
    for (double& factor : slowness_) factor = std::max(0.05, factor);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank) streams_.push_back(events_.add_resource());
    gathering_ = events_.add_resource();
    summing_ = events_.add_resource();
    loading_ = events_.add_resource();
    forward_us_ = compute_us / (job.checkpoint ? 4 : 3);
    backward_us_ = compute_us - forward_us_;
    update_us_ = job.optimizer_us * (job.zero == 0 ? terms.update : 1);
    before_.assign(slowness_.size(), EventSimulation::kNoResource);
    plan_contention();
  }

  SimulatedStep run() {
    const int steps = job_.load_us > 0 ? kReadSteps : 1;
    Ids loads;
    std::vector<Ids> ends;
    for (int step = 0; step < steps; ++step) {
      if (job_.load_us > 0) {
        loads.push_back(events_.add(loading_, job_.load_us));
        if (step >= kStepsAhead)
          for (const Id id : ends[static_cast<std::size_t>(step - kStepsAhead)])
            events_.depend(loads.back(), id);
      }
      comm_us_ = sent_ = 0;
      slowest_.clear();
      load_ = loads.empty() ? EventSimulation::kNoResource : loads.back();
      job_.zero == 3 ? sharded_step() : summed_step();
      ends.push_back(before_);
    }
    events_.run();
    return result(ends);
  }

 private:
  /// Odd numbers of a file are refused before they take all memory.
  void check_size() const {
    const double buckets = job_.parameters * job_.reduce_bytes / job_.bucket_bytes;
    const double units = job_.zero == 3 ? 6.0 * job_.layers * job_.accumulate : buckets;
    if (job_.accumulate < 1 || job_.layers < 1 || !(job_.bucket_bytes > 0) ||
        !(job_.first_bucket_bytes > 0) || !(units < kMostUnits))
      throw Error(fmt::format("a step of about {:.3g} messages", units), "simulation",
                  fmt::format("at most {:g} of them are simulated", kMostUnits));
  }

  /// What the slowest rank computes, in order.
  struct Work {
    Id id = 0;
    double StepTerms::*term = nullptr;
    double mean_us = 0, stretch = 0;
    bool sends = false;  ///< messages, which take as long on each rank
  };
  struct Sum {
    double cost_us = 0, bytes = 0;
  };

  Sum cost(CollectiveKind what, const AxisGroup& ranks, double bytes) const {
    const NodeGroup& group = ranks.ranks;
    const HopTimes hops = hop_times(machine_, what, group, terms_.link, ranks.sharing);
    const double us = collective_us(what, terms_.link.way, group, hops, bytes);
    const double part = static_cast<double>(group.ranks() - 1) / group.ranks();
    return {.cost_us = us > 0 ? us + terms_.link.call_us : 0,
            .bytes = (what == CollectiveKind::all_reduce ? 2 : 1) * part * bytes};
  }

  /// Computing of each rank, behind what it did before; `also` of all ranks is waited for.
  Ids compute(double StepTerms::*term, double us, const Ids& also = {}, double stretch = 0) {
    Ids out;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      const Id id = events_.add(streams_[rank], us * (1 + stretch) * (1 + sharing_) * slowness_[rank]);
      if (before_[rank] >= 0) events_.depend(id, before_[rank]);
      for (const Id one : also) events_.depend(id, one);
      before_[rank] = id;
      out.push_back(id);
    }
    slowest_.push_back({.id = out.back(), .term = term, .mean_us = us, .stretch = stretch});
    return out;
  }

  /// A collective of the group, once all of `after` are there.
  Id collective(Id stream, const Sum& sum, const Ids& after) {
    const Id id = events_.add(stream, sum.cost_us);
    for (const Id one : after) events_.depend(id, one);
    comm_us_ += sum.cost_us;
    sent_ += sum.bytes;
    return id;
  }

  Ids first_of_step() const { return load_ >= 0 ? Ids{load_} : Ids(); }

  AxisGroup all() const { return strided_group(machine_, models_, stride()); }
  AxisGroup shard() const { return strided_group(machine_, shards_, stride()); }
  /// Ranks of equal place in all shard groups.
  AxisGroup across() const { return strided_group(machine_, models_ / shards_, stride() * shards_); }
  int stride() const { return models_ == job_.gpus ? 1 : axis_stride(job_, "dp"); }

  /// What ranks send each other while none computes.
  void exchange(double us) {
    if (!(us > 0)) return;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      const Id id = events_.add(streams_[rank], us);
      if (before_[rank] >= 0) events_.depend(id, before_[rank]);
      before_[rank] = id;
    }
    slowest_.push_back({.id = before_.back(), .term = &StepTerms::comm_us, .mean_us = us, .sends = true});
    comm_us_ += us;
  }
  /// Sums of gradients that models have behind those over replicas.
  void exchange_behind(Ids& sums) {
    if (!(axes_.behind_us > 0)) return;
    sums = {collective(summing_, {.cost_us = axes_.behind_us, .bytes = axes_.behind_bytes},
                       sums.empty() ? before_ : sums)};
  }
  void exchange_passes(int passes) {
    exchange(passes * (axes_.forward_us + axes_.backward_us));
    sent_ += passes * axes_.pass_bytes;
  }

  struct Bucket {
    double bytes = 0;
    double inner = 0;  ///< part of its bytes, ready evenly over backward
  };

  /// In the order in which they are full: the first at first_bucket_bytes, the embedding's gradients last.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> out;
    double inner = (job_.parameters - job_.outer_parameters) * job_.reduce_bytes;
    for (double left = job_.parameters * job_.reduce_bytes; left > 0.5; left -= out.back().bytes) {
      const double bytes = std::min(
          left, out.empty() ? std::min(job_.first_bucket_bytes, job_.bucket_bytes) : job_.bucket_bytes);
      out.push_back({bytes, std::min(bytes, inner)});
      inner -= out.back().inner;
    }
    return out;
  }

  void plan_contention() {
    if (models_ == 1 || terms_.contention <= 0) return;
    double busy_us = 0;
    const AxisGroup ranks = all();
    if (job_.zero == 3) {
      const AxisGroup shard = this->shard();
      busy_us = job_.layers * (2 * cost(CollectiveKind::all_gather, shard, unit(job_.gather_bytes)).cost_us +
                               cost(CollectiveKind::reduce_scatter, shard, unit(job_.reduce_bytes)).cost_us);
      stretch_ = terms_.contention * std::min(1.0, busy_us / std::max(1e-9, forward_us_ + backward_us_));
      forward_stretch_ = stretch_;
      return;
    }
    for (const Bucket& one : buckets()) busy_us += cost(CollectiveKind::all_reduce, ranks, one.bytes).cost_us;
    const double beside_us = job_.overlaps ? terms_.overlap * backward_us_ : 0;
    stretch_ = terms_.contention * std::min(beside_us, busy_us) / std::max(1e-9, backward_us_);
  }

  double unit(double bytes) const { return (job_.parameters - job_.outer_parameters) / job_.layers * bytes; }

  /// Gradients summed over all ranks, or scattered and weights gathered (as many bytes).
  void summed_step() {
    compute(&StepTerms::forward_us, forward_us_ * job_.accumulate, first_of_step());
    compute(&StepTerms::backward_us, backward_us_ * (job_.accumulate - 1));  // passes that do not communicate
    exchange_passes(job_.accumulate);
    Ids sums;
    const double inner_bytes = (job_.parameters - job_.outer_parameters) * job_.reduce_bytes;
    const AxisGroup ranks = all();
    const bool is_sharded = job_.zero == 1 || job_.zero == 2;
    const bool scatters = is_sharded && shards_ == models_;  // copies of the shards want whole sums
    const double beside = job_.overlaps ? terms_.overlap : 0;
    if (beside < 1) compute(&StepTerms::backward_us, backward_us_ * (1 - beside), {}, stretch_);
    for (const Bucket& one : buckets()) {
      const double part = beside * one.inner / inner_bytes;
      const Ids ready = compute(&StepTerms::backward_us, backward_us_ * part, {}, stretch_);
      const Sum sum =
          cost(scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, ranks, one.bytes);
      sums = {collective(summing_, sum, ready)};
    }
    if (sums.empty()) compute(&StepTerms::backward_us, backward_us_ * beside);
    exchange_behind(sums);
    const Ids updated = compute(&StepTerms::optimize_us, update_us_, sums);
    if (!is_sharded) return;
    // Weights come back once a step; what of it the next forward pass hides is not modelled.
    const Sum sum = cost(CollectiveKind::all_gather, shard(), job_.parameters * job_.gather_bytes);
    compute(&StepTerms::optimize_us, 0, {collective(gathering_, sum, updated)});
  }

  /// Weights gathered unit by unit, two at a time, and gradients scattered.
  void sharded_step() {
    const AxisGroup shard = this->shard();
    const double outer = job_.parameters > 0 ? job_.outer_parameters / job_.parameters : 0;
    const double layer = (1 - outer) / job_.layers;
    const Sum gather = cost(CollectiveKind::all_gather, shard, unit(job_.gather_bytes));
    Ids sums;
    for (int pass = 0; pass < job_.accumulate; ++pass) {
      exchange_passes(1);
      const Ids start = before_.front() >= 0 ? before_ : Ids();
      const Sum outer_gather =
          cost(CollectiveKind::all_gather, shard, job_.outer_parameters * job_.gather_bytes);
      const Id outer_there = collective(gathering_, outer_gather, start);
      std::vector<Ids> units;
      const auto walk = [&](double StepTerms::*term, double share_us, double stretch,
                            const std::function<void(const Ids&)>& done) {
        Ids also = units.empty() && pass == 0 ? first_of_step() : Ids();
        for (int i = 0; i < job_.layers; ++i) {
          const bool has_room = units.size() < kGathersInFlight;
          const Id there =
              collective(gathering_, gather, has_room ? start : units[units.size() - kGathersInFlight]);
          also.push_back(there);
          also.push_back(outer_there);
          units.push_back(compute(term, share_us * layer, also, stretch));
          also.clear();
          done(units.back());
        }
      };
      walk(&StepTerms::forward_us, forward_us_, forward_stretch_, [](const Ids&) {});
      if (outer > 0) {
        compute(&StepTerms::forward_us, forward_us_ * outer);
        compute(&StepTerms::backward_us, backward_us_ * outer);
      }
      walk(&StepTerms::backward_us, backward_us_, stretch_,
           [&](const Ids& ready) { sums = {scattered(unit(job_.reduce_bytes), ready)}; });
      sums.push_back(scattered(job_.outer_parameters * job_.reduce_bytes, before_));
    }
    exchange_behind(sums);
    compute(&StepTerms::optimize_us, update_us_, sums);
  }

  /// Gradients over the shard group, then over all copies of the shard.
  Id scattered(double bytes, const Ids& ready) {
    const Id here = collective(gathering_, cost(CollectiveKind::reduce_scatter, shard(), bytes), ready);
    if (shards_ == models_) return here;
    const Sum over_copies = cost(CollectiveKind::all_reduce, across(), bytes / shards_);
    return collective(summing_, over_copies, {here});
  }

  SimulatedStep result(const std::vector<Ids>& ends) const {
    const auto last_of = [&](const Ids& ids) {
      return *std::max_element(ids.begin(), ids.end(),
                               [&](Id a, Id b) { return events_.end_us(a) < events_.end_us(b); });
    };
    const double end_us = events_.end_us(last_of(ends.back()));
    const double begin_us = ends.size() > 1 ? events_.end_us(last_of(ends[ends.size() - 2])) : 0;
    SimulatedStep out;
    StepTerms& terms = out.terms;
    double free_us = begin_us;
    for (const Work& work : slowest_) {
      const double waited_us = events_.start_us(work.id) - free_us;
      const double read_us = load_ >= 0 ? events_.end_us(load_) - free_us : 0;
      const double loading_us = std::clamp(read_us, 0.0, waited_us);
      terms.load_us += loading_us;
      terms.comm_us += waited_us - loading_us;
      terms.*work.term += work.mean_us;
      free_us = events_.end_us(work.id);
      if (work.sends) continue;
      terms.contention_us += work.mean_us * work.stretch;
      terms.sharing_us += work.mean_us * (1 + work.stretch) * sharing_;
      terms.jitter_us += work.mean_us * (1 + work.stretch) * (1 + sharing_) * (slowness_.back() - 1);
    }
    terms.comm_us += end_us - free_us;  // others end later where this rank waits for nobody
    out.comm_total_us = comm_us_;
    out.sent_bytes = sent_;
    out.activities = events_.size();
    return out;
  }

  const ClusterMachine& machine_;
  TrainingJob job_;  ///< parameters of one rank's layers
  const SimulationTerms& terms_;
  int models_ = 1;
  int shards_ = 1;
  AxisTimes axes_ = {};
  EventSimulation events_;
  std::vector<double> slowness_;
  Ids streams_;
  Id gathering_ = 0, summing_ = 0, loading_ = 0, load_ = EventSimulation::kNoResource;
  std::vector<Work> slowest_;  ///< in the step that is built
  Ids before_;                 ///< the last thing that each rank computed
  double forward_us_ = 0, backward_us_ = 0, update_us_ = 0;
  double sharing_ = 0;
  double stretch_ = 0, forward_stretch_ = 0;
  double comm_us_ = 0, sent_ = 0;  ///< in the step that is built
};

}  // namespace

SimulatedStep simulate_step(const ClusterMachine& machine, const TrainingJob& job,
                            const SimulationTerms& terms, double compute_us, SimulatedRanks which) {
  if (job.stages > 1) return simulate_pipeline(machine, job, terms, compute_us);
  return StepSimulation(machine, job, terms, compute_us, which).run();
}

}  // namespace isobar
