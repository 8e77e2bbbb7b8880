#include "train/step_graph.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "device/load_cuda.h"
#include "device/stream.h"
#include "train/capture_watch.h"

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
                            fmt::join(given.sizes(), ", "), fmt::join(fixed.sizes(), ", ")),
                "graph.enabled = true",
                "a recording has one shape for good: batches of one size, or graph.enabled=false");
  }
  fixed.copy_(given, /*non_blocking=*/true);
}

/// What a library says of itself, without its stack.
std::string first_line(const std::string& text) { return printable(text.substr(0, text.find('\n')), 200); }

std::vector<Comm*> of_several(std::vector<Comm*> groups) {
  std::erase_if(groups, [](const Comm* group) { return group->size() == 1; });
  return groups;
}

[[noreturn]] void explain(const std::string& operation, Stage stage, bool warmed_up,
                          const std::string& said) {
  const CaptureReason reason = capture_reason(operation, warmed_up);
  throw Error("a step cannot be recorded: " + reason.why,
              fmt::format("stage {} ({})", name_of(stage), first_line(said)), reason.hint, Exit::failed);
}

}  // namespace

StepGraph::StepGraph(const Config& config, const FusedAdam& adam, c10::Device device,
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
  if (config_.scope != GraphScope::step || why_not.empty()) return;
  throw Error("the optimiser cannot be part of the recording: " + why_not, "graph.scope = step",
              "--set graph.scope=model records forward, loss and backward alone");
}

StepGraph::StepGraph(const GraphConfig& config, c10::Device device, const CudaPlugin& plugin,
                     const std::vector<Comm*>& groups)
    : config_(config),
      device_(device),
      plugin_(config.enabled ? &plugin : nullptr),
      side_(side_stream(device)),
      groups_(of_several(groups)) {}

StepGraph::~StepGraph() {
  recorded_ = {};  // they lie in the graph's memory
  if (graph_ != nullptr) plugin_->destroy_graph(graph_);
}

c10::Stream StepGraph::stream() const { return plugin_ == nullptr ? current_stream(device_) : side_; }

void StepGraph::renew(const Batch& batch, FusedAdam& adam, double learning_rate) {
  if (!recorded() || config_.renews_rate) adam.set_learning_rate(learning_rate);
  renew(batch);
}

void StepGraph::renew(const Batch& batch) {
  if (plugin_ == nullptr) {
    fixed_ = batch;
    return;
  }
  if (recorded() && !config_.renews_batch) return;
  copy_to_fixed(fixed_.input, batch.input, "input");
  copy_to_fixed(fixed_.target, batch.target, "target");
}

bool StepGraph::record_is_due() const {
  return plugin_ != nullptr && !recorded() && steps_ >= config_.warmup;
}

at::Tensor StepGraph::launch_model(const StepParts& parts, const std::function<void(Stage)>& enter) const {
  enter(Stage::forward);
  const at::Tensor loss = parts.forward(fixed_);
  enter(Stage::backward);
  parts.backward(loss);
  return loss;
}

void StepGraph::average(const StepParts& parts, const std::function<void(Stage)>& enter) const {
  if (!groups_.empty()) enter(Stage::comm);
  parts.average();
}

void StepGraph::record_collectives(bool records) const {
  for (Comm* const group : groups_) group->record(records);
}

StepOutput StepGraph::launch_here(const StepParts& parts, const std::function<void(Stage)>& enter) const {
  StepOutput out;
  out.loss = launch_model(parts, enter).detach();
  average(parts, enter);
  enter(Stage::optimize);
  out.gradient_norm = parts.optimize();
  return out;
}

StepOutput StepGraph::launch(const StepParts& parts, const std::function<void(Stage)>& enter) {
  if (plugin_ == nullptr) return launch_here(parts, enter);
  const c10::Stream main = current_stream(device_);
  put_behind(main, side_);
  StepOutput out;
  {
    const c10::StreamGuard guard(side_);
    out = launch_here(parts, enter);
  }
  put_behind(side_, main);
  keep_for(out.loss, main);
  keep_for(out.gradient_norm, main);
  ++steps_;
  return out;
}

GraphFacts StepGraph::record(const StepParts& parts) {
  const c10::Stream main = current_stream(device_);
  const std::int64_t begin_us = steady_us();
  put_behind(main, side_);
  Stage stage = Stage::forward;
  bool ending = false;  // no operation is at fault then
  CudaGraph* graph = nullptr;
  record_collectives(true);
  {
    const c10::StreamGuard guard(side_);
    const CaptureWatch watch;
    try {
      graph = plugin_->begin_graph();
      recorded_.loss = launch_model(parts, [&](Stage next) { stage = next; }).detach();
      if (config_.fetches_loss) recorded_.loss.item<float>();
      if (config_.collectives) average(parts, [&](Stage next) { stage = next; });
      if (config_.scope == GraphScope::step) {
        stage = Stage::optimize;
        recorded_.gradient_norm = parts.optimize();
      }
      ending = true;
      plugin_->end_graph(graph);
    } catch (const std::exception& error) {
      recorded_ = {};
      if (graph != nullptr) plugin_->abandon_graph(graph);
      record_collectives(false);
      explain(ending ? "" : watch.failed(), stage, steps_ > 0, error.what());
    }
  }
  record_collectives(false);
  put_behind(side_, main);
  graph_ = graph;
  if (adam_ != nullptr) layout_ = adam_->layout_version();
  return {config_.scope, plugin_->graph_nodes(graph), steady_us() - begin_us, steps_};
}

StepOutput StepGraph::replay(const StepParts& parts, const std::function<void(Stage)>& enter) const {
  if (adam_ != nullptr && adam_->layout_version() != layout_) {
    throw Error("parameters were laid out anew after the step was recorded, which knows their old places",
                fmt::format("graph.warmup = {}", config_.warmup),
                "comm.sync=buckets cuts its buckets behind the first step: graph.warmup=2 or more",
                Exit::failed);
  }
  enter(Stage::replay);
  plugin_->launch_graph(graph_);
  for (Comm* const group : groups_) group->watch_replay(device_, "a replayed step");
  StepOutput out{recorded_.loss.clone(), {}};  // the next replay writes over it
  if (config_.scope == GraphScope::step) {
    if (recorded_.gradient_norm.defined()) out.gradient_norm = recorded_.gradient_norm.clone();
    return out;
  }
  if (!config_.collectives) average(parts, enter);
  enter(Stage::optimize);
  out.gradient_norm = parts.optimize();
  return out;
}

}  // namespace isobar
