#include "run/run.h"

#include <cmath>
#include <numeric>

#include "faults/parameter_fault.h"
#include "faults/rank_fault.h"
#include "faults/stage_fault.h"
#include "run/announce.h"
#include "train/weights.h"

namespace isobar {
namespace {

RankGroups meet(const RunPlan& plan, Console& console, JoinRanks join_ranks) {
  Comm alone;
  if (plan.ranks.rank > 0) console.be_quiet();
  strike_rank(plan.fault, "start", 0, alone);
  if (!plan.ranks.note.empty()) console.line(plan.ranks.note);
  return {plan, join_ranks};
}

StopVote::StartMax start_max(Comm& world) {
  if (world.size() == 1) return nullptr;
  return [&world](double own) { return world.start_max(own, "stop"); };
}

std::int64_t parameters_of_stages(const Parameters& parameters, Comm& stages) {
  const std::vector<double> counts =
      stages.all_gather_numbers(static_cast<double>(whole_count_of(parameters)), "parameters");
  return std::llround(std::accumulate(counts.begin(), counts.end(), 0.0));
}

}  // namespace

RunParts::RunParts(const RunStart& start, JoinRanks join_ranks)
    : plan(plan_run(start)),
      progress(plan.begin()),
      groups(meet(plan, console, join_ranks)),
      vote(start_max(groups.world()), StopSignals::requested) {
  groups.world().set_seam(rank_fault(plan.fault, models(plan.config())));
  output = std::make_unique<RunOutput>(start, plan, groups, console);
  recorder = std::make_unique<Recorder>(plan, groups, *output, progress);
}

bool RunParts::complete() const {
  return progress.all_done() && (vote.signal() == 0 || !progress.scores_due());
}

void Run::announce(const Dataset& train, const Dataset& valid, const Training& training) {
  RunPlan& plan = parts_.plan;
  plan.promised.reset();
  Progress& progress = parts_.progress;
  RankGroups& groups = parts_.groups;
  progress.steps_per_epoch = training.loader.steps_per_epoch() / plan.config().train.accumulate;
  parts_.data = {train.identity(), valid.identity()};
  parts_.loader = &training.loader;
  const char* const alike = plan.fault.fault == Fault::no_init_sync ? "cp" : "dp";
  spoil(plan.fault, training.parameters, groups.along(alike).rank());
  parts_.guard.emplace(plan.config(), training, progress, groups.world().size(),
                       static_cast<int>(ranks_of_model(plan.config())));
  parts_.recorder->follow(training, *parts_.guard);
  isobar::announce(plan,
                   {train, valid, training.loader,
                    parameters_of_stages(training.parameters, groups.along("pp")), progress.steps_per_epoch},
                   groups, *parts_.output, progress.first_step);
}

Checkpoints Run::checkpoints(const Training& training) {
  return {parts_.plan, training, parts_.data, parts_.groups, parts_.progress, *parts_.recorder};
}

ReplicaCheck Run::replica_check(const Parameters& parameters) {
  return {parameters, parts_.groups, parts_.progress, config().comm, parts_.plan.fault, *parts_.output};
}

void Run::first_weights(Parameters& parameters) {
  const TrainConfig& files = config().train;
  Comm& stages = parts_.groups.along("pp");
  if (!files.init.empty()) load_weights(parameters, files.init, &stages);
  if (!files.save_init.empty()) save_weights(parameters, files.save_init, parts_.groups.model(), &stages);
}

void Run::only_read() {
  while (!parts_.progress.all_done() && parts_.vote.ask(/*now=*/false) == 0) {
    Step step = recorder().begin_step();
    step.enter(Stage::load);
    StepResult result{.loss = {}};
    for (std::int64_t part = 0; part < config().train.accumulate; ++part) {
      const Batch batch = parts_.loader->next();
      result.samples += batch.size();
      result.epoch = batch.epoch;
    }
    step.finish(result);
  }
}

bool Run::goes_on() {
  if (config().run.measure == MeasureKind::io) only_read();
  const bool all_done = parts_.progress.all_done();
  // Once, and at the end too: a request that comes later stops the next step.
  const bool asked = parts_.vote.ask(/*now=*/all_done) != 0;
  if (!all_done && !asked) return true;
  recorder().record_done_steps(/*wait_for_all=*/true);  // while what they were made with is there
  return false;
}

}  // namespace isobar
