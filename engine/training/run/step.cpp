#include "run/step.h"

#include <utility>

#include "core/fault.h"
#include "core/waiting.h"
#include "run/run.h"

namespace isobar {

Step::Step(Run& run, std::int64_t index)
    : run_(run),
      index_(index),
      ranges_(run.ranges_plugin(), index),
      timer_(run.events_.get(), run.spans_->wants(index)),
      operators_(run.watch_operators(index)) {
  run_.profiler_->begin_step(index_, run_.steps_per_epoch_);
}

void Step::enter(Stage stage) {
  const char* const name = kStageNames[static_cast<std::size_t>(stage)];
  if (operators_) operators_->enter(stage == Stage::optimize ? "gradient check" : name);
  if (stage == Stage::optimize) {
    timer_.leave();  // looking at gradients belongs to no stage
    run_.look_at_gradients(index_);
  }
  timer_.enter(stage);
  ranges_.enter(stage);
  run_.enter_stage(name);
  if (stage == Stage::optimize) run_.check_gradients(index_);
  if (operators_) operators_->enter(name);
  const FaultSetting& fault = fault_setting();
  if (fault.fault == Fault::slow_stage && fault.stage == name) sleep_us(fault.ms * 1000);
}

void Step::finish(const StepResult& result) {
  timer_.leave();
  if (operators_) operators_->stop();
  ranges_.finish();
  run_.check_norm(index_, result.gradient_norm);
  run_.round_weights();
  const FetchedFigures fetched = run_.fetch_figures(index_, result);  // what it costs belongs to the step
  run_.queue_step(index_, result, fetched, timer_.finish(), std::move(operators_));
  run_.profiler_->end_step(index_, run_.steps_per_epoch_);
}

}  // namespace isobar
