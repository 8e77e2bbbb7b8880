#include "train/step_graph.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>

#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "device/capture_watch.h"
#include "device/load_cuda.h"
#include "device/stream.h"

namespace isobar {
namespace {

/// What is asked of `after` from now on waits for what is on `before` now; the host does not.
void put_behind(const c10::Stream& before, const c10::Stream& after) {
  if (before == after) return;
  c10::Event event(before.device_type());
  event.record(before);
  event.block(after);
}

void copy_to_fixed(at::Tensor& fixed, const at::Tensor& given, const char* name) {
  if (!fixed.defined()) fixed = at::empty_like(given);
  if (fixed.sizes() != given.sizes() || fixed.scalar_type() != given.scalar_type()) {
    throw Error(fmt::format("the {} of a batch is [{}], and the recorded step takes [{}]", name,
                            joined(given.sizes()), joined(fixed.sizes())),
                "graph.enabled = true",
                "a recording has one shape for good: batches of one size, or graph.enabled=false");
  }
  fixed.copy_(given, /*non_blocking=*/true);
}

std::vector<Comm*> of_several(std::vector<Comm*> groups) {
  std::erase_if(groups, [](const Comm* group) { return group->size() == 1; });
  return groups;
}

[[noreturn]] void explain(const std::string& operation, Stage stage, bool warmed_up,
                          const std::string& said) {
  const CaptureReason reason = capture_reason(operation, warmed_up);
  throw Error("a step cannot be recorded: " + reason.why,
              fmt::format("stage {} ({})", name_of(stage), printable_line(said)), reason.hint, Exit::failed);
}

}  // namespace

StepGraph::StepGraph(const Config& config, FusedAdam& adam, c10::Device device,
                     const std::vector<Comm*>& groups)
    : config_(config.graph),
      device_(device),
      plugin_(config.graph.enabled ? &cuda_plugin() : nullptr),
      side_(side_stream(device)),
      groups_(of_several(groups)),
      adam_(&adam) {
  if (!config_.enabled) return;
  for (const Comm* const group : groups_) {
    if (!config_.collectives || group->can_be_recorded()) continue;
    throw Error("collectives of " + group->backend() + " cannot be recorded: the host takes part in them",
                "graph.collectives = true", "comm.backend=nccl, or graph.collectives=false");
  }
  const std::string why_not = adam.why_not_captured();
  if (config_.scope == GraphScope::step && !why_not.empty())
    throw Error("the optimiser cannot be part of the recording: " + why_not, "graph.scope = step",
                "--set graph.scope=model records forward, loss and backward alone");
  step_ = seams::step_recorder(*this, config_);
}

StepGraph::StepGraph(const GraphConfig& config, c10::Device device, const CudaPlugin& plugin,
                     const std::vector<Comm*>& groups)
    : config_(config),
      device_(device),
      plugin_(config.enabled ? &plugin : nullptr),
      side_(side_stream(device)),
      groups_(of_several(groups)) {
  if (config_.enabled) step_ = seams::step_recorder(*this, config_);
}

StepGraph::~StepGraph() {
  recorded_ = {};  // they lie in the graph's memory
  if (graph_ != nullptr) plugin_->destroy_graph(graph_);
}

c10::Stream StepGraph::stream() const { return plugin_ == nullptr ? current_stream(device_) : side_; }

void StepGraph::renew(const Batch& batch, double learning_rate) {
  if (step_) return step_->renew(batch, learning_rate);
  write_rate(learning_rate);
  batch_ = batch;
}

void StepGraph::copy(const Batch& from, Batch& to) {
  copy_to_fixed(to.input, from.input, "input");
  copy_to_fixed(to.target, from.target, "target");
}

void StepGraph::write_rate(double learning_rate) {
  if (adam_ != nullptr) adam_->set_learning_rate(learning_rate);
}

void StepGraph::enter(Stage stage) {
  if (stage == Stage::comm && groups_.empty()) return;
  stage_ = stage;
  if (!is_recording_) (*enter_)(stage);
}

void StepGraph::model(const Batch& batch) {
  at::Tensor& loss = (is_recording_ ? recorded_ : now_).loss;
  loss = parts_->model(batch).detach();
  if (is_recording_ && has_fault(Fault::item_in_capture)) loss.item<float>();
}

void StepGraph::average() { parts_->average(); }

void StepGraph::optimize() { (is_recording_ ? recorded_ : now_).gradient_norm = parts_->optimize(); }

void StepGraph::begin_recording() {
  graph_ = plugin_->begin_graph();
  is_recording_ = true;
}

void StepGraph::end_recording() {
  is_ending_ = true;
  plugin_->end_graph(graph_);
  is_recording_ = is_ending_ = false;
}

void StepGraph::replay() {
  enter(Stage::replay);
  plugin_->launch_graph(graph_);
  for (Comm* const group : groups_) group->watch_replay(device_, "a replayed step");
}

void StepGraph::record_collectives(bool records) const {
  for (Comm* const group : groups_) group->record(records);
}

StepOutput StepGraph::make_step(const Enter& enter, const StepParts& parts) {
  enter_ = &enter;
  parts_ = &parts;
  now_ = {};
  if (!step_) {
    model(batch_);
    average();
    optimize();
    return std::exchange(now_, {});
  }
  std::optional<GraphFacts> recording;
  if (step_->record_is_due()) recording = record();
  StepOutput out = step_->recorded() ? replayed() : launched();
  out.recording = recording;
  return out;
}

StepOutput StepGraph::launched() {
  const c10::Stream main = current_stream(device_);
  put_behind(main, side_);
  {
    const c10::StreamGuard guard(side_);
    step_->launch();
  }
  put_behind(side_, main);
  keep_for(now_.loss, main);
  keep_for(now_.gradient_norm, main);
  ++launched_steps_;
  return std::exchange(now_, {});
}

GraphFacts StepGraph::record() {
  const c10::Stream main = current_stream(device_);
  const std::int64_t begin_us = steady_us();
  put_behind(main, side_);
  stage_ = Stage::forward;
  record_collectives(true);
  {
    const c10::StreamGuard guard(side_);
    const CaptureWatch watch;
    try {
      step_->record();
    } catch (const std::exception& error) {
      recorded_ = {};
      CudaGraph* const graph = std::exchange(graph_, nullptr);
      if (graph != nullptr) plugin_->abandon_graph(graph);
      is_recording_ = false;
      record_collectives(false);
      explain(std::exchange(is_ending_, false) ? "" : watch.failed(), stage_, launched_steps_ > 0,
              error.what());
    }
  }
  record_collectives(false);
  put_behind(side_, main);
  if (graph_ == nullptr || is_recording_)
    throw Error("nothing was recorded", "a step that was to be recorded", "", Exit::failed);
  if (adam_ != nullptr) layout_ = adam_->layout_version();
  return {config_.scope, plugin_->graph_nodes(graph_), steady_us() - begin_us, launched_steps_};
}

StepOutput StepGraph::replayed() {
  if (adam_ != nullptr && adam_->layout_version() != layout_) {
    throw Error("parameters were laid out anew after the step was recorded, which holds their old places",
                fmt::format("graph.warmup = {}", config_.warmup),
                "comm.sync=buckets cuts its buckets behind the first step: graph.warmup=2 or more",
                Exit::failed);
  }
  step_->replay();
  StepOutput out = std::exchange(now_, {});
  out.loss = recorded_.loss.clone();  // the next replay writes over it
  if (!out.gradient_norm.defined() && recorded_.gradient_norm.defined())
    out.gradient_norm = recorded_.gradient_norm.clone();
  return out;
}

}  // namespace isobar
