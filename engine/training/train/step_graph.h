#pragma once
// CUDA graphs: what a step asks of the device is the same in every step, so it is recorded once and then
// asked for with one call. A recording holds addresses, not values: all that is new in a step goes to places
// that stay.
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <functional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "data/loader.h"
#include "device/cuda_plugin.h"
#include "device/stage_timer.h"
#include "train/fused_adam.h"

namespace isobar {

/// What a step asks of the device, by stage. All tensors that these use must stay where they are.
struct StepParts {
  std::function<at::Tensor(const Batch&)> forward;  ///< gradients set to zero, forecast, loss
  std::function<void(const at::Tensor&)> backward;  ///< from that loss
  std::function<void()> average = [] {};            ///< gradients over the ranks
  std::function<at::Tensor()> optimize;             ///< gives the length of the gradient
};

struct StepOutput {
  at::Tensor loss;           ///< scalar
  at::Tensor gradient_norm;  ///< scalar
};

/// What was recorded, and how long the host took for it.
struct GraphFacts {
  GraphScope scope = GraphScope::step;
  GraphNodes nodes;
  std::int64_t capture_us = 0;
  std::int64_t warmup_steps = 0;
};

class StepGraph {
 public:
  /// `groups`: those of this rank that communicate in a step; they outlive this. Error (exit code 2) when the
  /// optimiser cannot be part of graph.scope = step, or collectives not of the recording. With graph.enabled
  /// = false nothing is ever recorded.
  StepGraph(const Config& config, const FusedAdam& adam, c10::Device device,
            const std::vector<Comm*>& groups);
  /// For tests: another device than the one that was chosen.
  StepGraph(const GraphConfig& config, c10::Device device, const CudaPlugin& plugin,
            const std::vector<Comm*>& groups = {});
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// What is new in this step: the batch is copied to where the recording reads it, the rate to the device.
  /// Error (exit code 2) when the batch has another shape than the first one.
  void renew(const Batch& batch, FusedAdam& adam, double learning_rate);
  void renew(const Batch& batch);

  // One step on what was renewed; the results are the caller's own. `enter` hears the stages as they begin.
  /// Piece by piece: forward, backward, of several ranks comm, and optimize. Where a recording is to come it
  /// goes to the stream of the recording, so that what libraries and autograd set up for a stream is there.
  StepOutput launch(const StepParts& parts, const std::function<void(Stage)>& enter);
  /// With one call, on the current stream: replay, and what graph.scope and graph.collectives leave out of
  /// it. Error (exit code 1) when parameters were laid out anew since the recording, which knows their
  /// places.
  StepOutput replay(const StepParts& parts, const std::function<void(Stage)>& enter) const;

  /// Whether graph.warmup steps were launched and none is recorded yet.
  bool record_is_due() const;
  /// Records a step without making it. Error (exit code 1) that names operation and stage when it cannot be
  /// recorded.
  GraphFacts record(const StepParts& parts);
  bool recorded() const { return graph_ != nullptr; }

  /// On which steps are launched and recorded: hooks of gradients have to be made for it.
  c10::Stream stream() const;

 private:
  StepOutput launch_here(const StepParts& parts, const std::function<void(Stage)>& enter) const;
  at::Tensor launch_model(const StepParts& parts, const std::function<void(Stage)>& enter) const;
  void average(const StepParts& parts, const std::function<void(Stage)>& enter) const;
  void record_collectives(bool records) const;

  GraphConfig config_;
  c10::Device device_;
  const CudaPlugin* plugin_;  ///< null with graph.enabled = false
  c10::Stream side_;
  std::vector<Comm*> groups_;  ///< of several ranks; empty where one process trains alone
  Batch fixed_;
  std::int64_t steps_ = 0;  ///< launched piece by piece so far
  CudaGraph* graph_ = nullptr;
  const FusedAdam* adam_ = nullptr;  ///< null in tests without one
  std::int64_t layout_ = 0;          ///< Parameters::layout_version when it was recorded
  StepOutput recorded_;              ///< where a replay leaves its results
};

}  // namespace isobar
