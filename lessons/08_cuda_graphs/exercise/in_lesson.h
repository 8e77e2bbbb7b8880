#pragma once
// Read before main.cpp by ./isobar run 08_cuda_graphs --mine: its StepGraph is this one, which asks your step
// what to copy, to launch, to record and to replay. Streams, and what ranks ask of a recording, are ours.
#include "08_cuda_graphs/exercise/part.h"
#include "check/own_part.h"
#include "core/clock.h"
#include "core/error.h"
#include "device/load_cuda.h"
#include "device/stream.h"
#include "train/step_graph.h"

namespace isobar {

class YourStepGraph : private exercise::GraphDevice {
 public:
  using Enter = std::function<void(Stage)>;

  YourStepGraph(const Config& config, FusedAdam& adam, c10::Device device, const std::vector<Comm*>& groups)
      : ours_(config, adam, device, groups),
        config_(config.graph),
        adam_(adam),
        device_(device),
        plugin_(config.graph.enabled ? &cuda_plugin() : nullptr),
        groups_(groups) {
    if (!config_.enabled) return;
    if (config_.scope != GraphScope::step)
      throw Error("your step is recorded as a whole", "graph.scope = model", "graph.scope=step");
    std::erase_if(groups_, [](const Comm* group) { return group->size() == 1; });
    const auto& part = own_part_as<exercise::Part>();
    step_ = part.make_recorded_step(*this, work(), config_.warmup);
  }
  ~YourStepGraph() override {
    results_ = {};  // they lie in the graph's memory
    if (graph_ != nullptr) plugin_->destroy_graph(graph_);
  }
  YourStepGraph(const YourStepGraph&) = delete;
  YourStepGraph& operator=(const YourStepGraph&) = delete;

  c10::Stream stream() const { return ours_.stream(); }
  bool record_is_due() const { return step_ && step_->record_is_due(); }
  bool recorded() const { return step_ && step_->recorded(); }

  void renew(const Batch& batch, FusedAdam& adam, double rate) {
    if (!step_) return ours_.renew(batch, adam, rate);
    batches_.front() = batch;
    step_->renew({.address = 0, .values = static_cast<std::size_t>(batch.input.numel())}, rate);
  }

  StepOutput launch(const StepParts& parts, const Enter& enter) {
    if (!step_) return ours_.launch(parts, enter);
    const c10::Stream main = current_stream(device_);
    on_side(parts, enter, [&] { step_->launch(); });
    for (const at::Tensor& result : {results_.loss, results_.gradient_norm}) keep_for(result, main);
    ++launched_;
    return results_;
  }

  GraphFacts record(const StepParts& parts) {
    const std::int64_t begin_us = steady_us();
    for (Comm* const group : groups_) group->record(true);
    try {
      on_side(
          parts, [](Stage) {}, [&] { step_->record(); });
    } catch (const std::exception&) {
      if (is_recording_) plugin_->abandon_graph(std::exchange(graph_, nullptr));
      for (Comm* const group : groups_) group->record(false);
      throw;
    }
    for (Comm* const group : groups_) group->record(false);
    if (graph_ == nullptr || is_recording_)
      throw Error("nothing was recorded", "your step", "./isobar check 08_cuda_graphs says more",
                  Exit::failed);
    layout_ = adam_.layout_version();
    return {config_.scope, plugin_->graph_nodes(graph_), steady_us() - begin_us, launched_};
  }

  StepOutput replay(const StepParts& /*parts*/, const Enter& enter) {
    if (adam_.layout_version() != layout_)
      throw Error("parameters were laid out anew after the step was recorded, which knows their old places",
                  "graph.warmup", "graph.warmup=2 or more", Exit::failed);
    enter(Stage::replay);
    step_->replay();
    for (Comm* const group : groups_) group->watch_replay(device_, "a replayed step");
    return {results_.loss.clone(), results_.gradient_norm.clone()};  // the next replay writes over them
  }

 private:
  // Memory of the learner's is the place of a batch; the one that holds a rate stays empty.
  exercise::DeviceMemory allocate(std::size_t values) override {
    batches_.emplace_back();
    return {.address = batches_.size() - 1, .values = values};
  }

  void copy(const exercise::DeviceMemory& from, const exercise::DeviceMemory& to) override {
    const Batch& given = batches_.at(from.address);
    Batch& fixed = batches_.at(to.address);
    if (!fixed.input.defined()) fixed = {given.input.clone(), given.target.clone()};
    fixed.input.copy_(given.input, /*non_blocking=*/true);
    fixed.target.copy_(given.target, /*non_blocking=*/true);
  }

  void write(double value, const exercise::DeviceMemory& /*to*/) override { adam_.set_learning_rate(value); }

  void begin_recording() override {
    graph_ = plugin_->begin_graph();
    is_recording_ = true;
  }
  void end_recording() override {
    plugin_->end_graph(graph_);
    is_recording_ = false;
  }
  void replay() override { plugin_->launch_graph(graph_); }

  exercise::StepWork work() {
    exercise::StepWork out;
    out.forward = [this](const exercise::DeviceMemory& batch) {
      (*enter_)(Stage::forward);
      loss_ = parts_->forward(batches_.at(batch.address));
      results_.loss = loss_.detach();
    };
    out.backward = [this] {
      (*enter_)(Stage::backward);
      parts_->backward(std::exchange(loss_, {}));
      if (!groups_.empty()) (*enter_)(Stage::comm);
      parts_->average();
    };
    out.optimize = [this](const exercise::DeviceMemory& /*rate*/) {
      (*enter_)(Stage::optimize);
      results_.gradient_norm = parts_->optimize();
    };
    out.report = [] {};  // the page hands the loss to step.finish, which reads it later
    return out;
  }

  /// On the stream of the recording, behind what the current one was asked for, and before what comes next.
  void on_side(const StepParts& parts, const Enter& enter, const std::function<void()>& run) {
    parts_ = &parts;
    enter_ = &enter;
    const c10::Stream main = current_stream(device_), side = stream();
    put_behind(main, side);
    {
      const c10::StreamGuard guard(side);
      run();
    }
    put_behind(side, main);
  }

  static void put_behind(const c10::Stream& before, const c10::Stream& after) {
    if (before == after) return;
    c10::Event event(before.device_type());
    event.record(before);
    event.block(after);
  }

  StepGraph
      ours_;  ///< refuses what cannot be recorded, has the stream, and is all with graph.enabled = false
  GraphConfig config_;
  FusedAdam& adam_;
  c10::Device device_;
  const CudaPlugin* plugin_;
  std::vector<Comm*> groups_;
  std::unique_ptr<exercise::RecordedStep> step_;
  std::vector<Batch> batches_ = std::vector<Batch>(1);  ///< the first: the one of this step, where it came
  const StepParts* parts_ = nullptr;
  const Enter* enter_ = nullptr;
  at::Tensor loss_;
  StepOutput results_;
  CudaGraph* graph_ = nullptr;
  bool is_recording_ = false;
  std::int64_t launched_ = 0;
  std::int64_t layout_ = 0;
};

}  // namespace isobar

#define StepGraph YourStepGraph
