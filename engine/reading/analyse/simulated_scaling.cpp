#include "analyse/simulated_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/cluster_prediction.h"
#include "core/error.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"

namespace isobar {
namespace {

constexpr std::int64_t kTimesMeasured = 8;

/// Why nothing is simulated, or what is.
struct Base {
  const ScalingFigures* point = nullptr;
  std::string reason = "";
};

bool has_step(const ScalingFigures* point) {
  return point != nullptr && !point->is_gap() && point->step_us.median() > 0;
}

Base base_of(const Scaling& measured, const SimulatedStudy& study) {
  if (!study.link)
    return {
        .reason =
            "the link between ranks is not known: ./isobar predict --measure measures that of this "
            "machine, --set comm.link.gbit_per_s=10 emulates one, ./isobar predict LESSON --cluster NAME is "
            "for clusters"};
  if (study.config.comm.sync == SyncKind::per_parameter)
    return {.reason = "messages of single parameters are not modelled on a cluster yet"};
  if (study.config.comm.broadcast_buffers && study.config.model.buffers_mb > 0)
    return {.reason = "buffers that are broadcast are not modelled on a cluster yet"};
  try {
    check_modelled(study.config);
  } catch (const Error& error) {
    return {.reason = error.what()};
  }
  Base out;
  for (const ScalingLine line : {ScalingLine::real, ScalingLine::synthetic})
    if (const ScalingFigures* const found = measured.find(line, measured.base_ranks); has_step(found))
      out.point = found;
  if (out.point == nullptr) {
    out.reason = fmt::format("{} ha{} no step that computing could be taken from",
                             counted(measured.base_ranks, "rank"), measured.base_ranks == 1 ? "s" : "ve");
    return out;
  }
  const auto is_other = [&](const ScalingFigures& point) {
    return point.line == out.point->line && point.ranks != out.point->ranks && has_step(&point);
  };
  if (std::ranges::none_of(measured.points, is_other))
    out = {.reason = "one point alone shows nothing of how good a simulation is"};
  return out;
}

/// Ring and link of the study; what no machine states is as fitted to published points.
SimulationTerms terms_of_study() {
  SimulationTerms out = fitted_terms();
  out.link = LinkTerms{.call_us = 0, .way = CollectiveWay::ring};
  return out;
}

class StudySimulation {
 public:
  StudySimulation(const Scaling& measured, const SimulatedStudy& study, const ScalingFigures& base)
      : measured_(measured), study_(study), base_(base), shape_(vit_shape(study.config)) {
    machine_.gpus_per_node = 1;
    machine_.between_gb_s = study.link->bytes_per_us * 1e-3;
    machine_.latency_us = study.link->latency_us;
    const TrainingJob job = job_on(base.ranks);
    compute_us_ = calibrated_compute_us(machine_, job, terms_, base.step_us.median()) / crowding(base.ranks);
  }

  /// How much longer computing takes where ranks share processors and memory: as line no-comm did, else by
  /// counting processors.
  double crowding(std::int64_t ranks) const {
    if (study_.processors <= 0) return 1;
    const auto counted = [&](std::int64_t of) {
      return std::max(1.0, static_cast<double>(of) * study_.processors_a_rank / study_.processors);
    };
    const ScalingFigures* const alone = measured_.find(ScalingLine::no_comm, base_.ranks);
    const ScalingFigures* const together = measured_.find(ScalingLine::no_comm, ranks);
    if (!has_step(alone) || !has_step(together)) return counted(ranks);
    const double longer = together->step_us.median() / alone->step_us.median() / work(ranks);
    return counted(base_.ranks) * std::max(1.0, longer);
  }

  double batch(std::int64_t ranks) const {
    if (measured_.law == ScalingLaw::strong) return base_.batch;
    return base_.batch / static_cast<double>(base_.ranks) * static_cast<double>(ranks);
  }

  /// Samples of a rank, beside those that a rank of the base has.
  double work(std::int64_t ranks) const {
    return batch(ranks) / static_cast<double>(ranks) / (base_.batch / static_cast<double>(base_.ranks));
  }

  bool divides(std::int64_t ranks) const {
    const auto parts = static_cast<double>(ranks * study_.config.train.accumulate);
    return measured_.law == ScalingLaw::weak || std::fmod(base_.batch, parts) == 0;
  }

  TrainingJob job_on(std::int64_t ranks) const {
    const auto copies = static_cast<double>(ranks) / static_cast<double>(ranks_of_model(study_.config) *
                                                                         models_of_ensemble(study_.config));
    TrainingJob out = job_of(study_.config, shape_, batch(ranks) / std::max(1.0, copies),
                             memory_facts(study_.config, /*on_cuda=*/false).value_bytes);
    out.gpus = static_cast<int>(ranks);
    return out;
  }

  SimulatedPoint point(std::int64_t ranks, bool shares) const {
    SimulatedPoint out{.ranks = ranks, .batch = batch(ranks), .shares_processors = shares};
    const double compute_us = compute_us_ * work(ranks) * (shares ? crowding(ranks) : 1);
    out.terms = simulate_step(machine_, job_on(ranks), terms_, compute_us).terms;
    out.samples_per_s = out.batch / out.terms.step_us() * 1e6;
    return out;
  }

  const SimulationTerms& terms() const { return terms_; }
  double gradient_mb() const {
    const TrainingJob job = job_on(base_.ranks);
    return job.parameters * job.reduce_bytes * 1e-6;
  }

 private:
  const Scaling& measured_;
  const SimulatedStudy& study_;
  const ScalingFigures& base_;
  VitShape shape_;
  ClusterMachine machine_;
  SimulationTerms terms_ = terms_of_study();
  double compute_us_ = 0;
};

/// Beyond the most that were measured.
std::vector<std::int64_t> further_ranks(std::int64_t most, std::int64_t up_to) {
  std::vector<std::int64_t> out;
  const std::int64_t last = up_to == kUsualContinuation ? most * kTimesMeasured : up_to;
  for (std::int64_t ranks = 2 * most; ranks < last; ranks *= 2) out.push_back(ranks);
  if (last > most) out.push_back(last);
  return out;
}

std::string protocol_sentence(const StudySimulation& simulation, const SimulatedStudy& study,
                              const ScalingFigures& base, bool shares) {
  std::string own = study.processors <= 0 ? "" : "; every rank is meant to have processors of its own";
  if (shares) own += ", or, in rows marked shared, to share them as the measured ranks did";
  return fmt::format(
      "Simulated, not measured: computing takes what it took on {} (line {}){}; gradients of {:.3g} MB go "
      "round a ring over {}; jitter {:g} % is that of published points.",
      counted(base.ranks, "rank"), line_name(base.line), own, simulation.gradient_mb(), study.link_words,
      100 * simulation.terms().jitter);
}

}  // namespace

SimulatedScaling simulate_scaling(const Scaling& measured, const SimulatedStudy& study) {
  SimulatedScaling out;
  if (study.up_to == 0) return out;
  const Base base = base_of(measured, study);
  if (base.point == nullptr) {
    out.protocol = {"Nothing is simulated beyond what was measured, since " + base.reason + "."};
    return out;
  }
  out.line = base.point->line;
  const StudySimulation simulation(measured, study, *base.point);
  const auto efficiency = [&](const SimulatedPoint& point, double base_us) {
    const double ratio = measured.law == ScalingLaw::weak
                             ? 1
                             : static_cast<double>(base.point->ranks) / static_cast<double>(point.ranks);
    return ratio * base_us / point.terms.step_us();
  };
  out.points.push_back(simulation.point(base.point->ranks, false));
  const double own_us = out.points.front().terms.step_us();
  const auto add = [&](std::int64_t ranks, bool shares, const ScalingFigures* beside) {
    SimulatedPoint point = simulation.point(ranks, shares);
    point.efficiency = efficiency(point, shares ? base.point->step_us.median() : own_us);
    if (has_step(beside)) point.error = point.terms.step_us() / beside->step_us.median() - 1;
    out.points.push_back(point);
  };
  for (const std::int64_t ranks : measured.ranks()) {
    if (ranks == base.point->ranks || !simulation.divides(ranks)) continue;
    const ScalingFigures* const beside = measured.find(out.line, ranks);
    const bool shares = simulation.crowding(ranks) > 1;
    if (shares) add(ranks, true, beside);
    add(ranks, false, shares ? nullptr : beside);
  }
  for (const std::int64_t ranks : further_ranks(measured.ranks().back(), study.up_to))
    if (simulation.divides(ranks)) add(ranks, false, nullptr);
  out.protocol = {protocol_sentence(simulation, study, *base.point,
                                    std::ranges::any_of(out.points, &SimulatedPoint::shares_processors))};
  if (measured.law == ScalingLaw::strong && out.points.back().ranks == measured.ranks().back())
    out.protocol.push_back(
        fmt::format("A batch of {:g} samples is divided over no more ranks.", base.point->batch));
  return out;
}

}  // namespace isobar
