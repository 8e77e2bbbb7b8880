#pragma once
// CUDA graphs: what a step asks of the device is the same in every step, so it is recorded once and then
// asked for with one call. A recording holds addresses, not values: all that is new in a step goes to places
// that stay.
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "data/loader.h"
#include "device/cuda_plugin.h"
#include "device/stage_timer.h"
#include "train/fused_adam.h"
#include "train/step_recorder.h"

namespace isobar {

/// What a step asks of the device, in this order. All tensors that these use must stay where they are; each
/// names its stages by StepGraph::enter.
struct StepParts {
  /// Gradients set to zero, forecast, loss, and gradients from it, of the batch that is given. Gives the
  /// loss.
  std::function<at::Tensor(const Batch&)> model;
  std::function<void()> average;         ///< gradients over the ranks
  std::function<at::Tensor()> optimize;  ///< gives the length of the gradient
};

/// What was recorded, and how long the host took for it.
struct GraphFacts {
  GraphScope scope = GraphScope::step;
  GraphNodes nodes;
  std::int64_t capture_us = 0;
  std::int64_t warmup_steps = 0;
};

struct StepOutput {
  at::Tensor loss;                           ///< scalar
  at::Tensor gradient_norm;                  ///< scalar
  std::optional<GraphFacts> recording = {};  ///< facts of the recorded step
};

class StepGraph final : private StepDevice {
 public:
  /// `groups`: those of this rank that communicate in a step; they and `adam` outlive this. Error (exit code
  /// 2) when the optimiser cannot be part of graph.scope = step, or collectives not of the recording. With
  /// graph.enabled = false nothing is ever recorded.
  StepGraph(const Config& config, FusedAdam& adam, c10::Device device, const std::vector<Comm*>& groups);
  /// For tests: another device than the one that was chosen, and no optimiser.
  StepGraph(const GraphConfig& config, c10::Device device, const CudaPlugin& plugin,
            const std::vector<Comm*>& groups = {});
  ~StepGraph() override;
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// What is new in this step: the batch is copied to where the recording reads it, the rate to the device.
  /// Error (exit code 2) when the batch has another shape than the first one.
  void renew(const Batch& batch, double learning_rate);

  /// One step on what was renewed, whose stages `timed` hears; the results are the caller's own.
  ///   launched    graph.warmup times, part by part. Where a recording is to come it goes to the stream of
  ///   the
  ///               recording, so that what libraries and autograd set up for a stream is there.
  ///   recorded    once, without making a step: all parts, or what graph.scope and graph.collectives name.
  ///               Error (exit code 1) that names operation and stage when it cannot be recorded.
  ///   replayed    from then on, with one call on the current stream: the stage replay, and behind it the
  ///               parts that were not recorded. Error (exit code 1) when parameters were laid out anew since
  ///               the recording, which holds their places.
  template <class Timed>
  StepOutput step(Timed& timed, std::function<at::Tensor(const Batch&)> model, std::function<void()> average,
                  std::function<at::Tensor()> optimize) {
    return make_step([&timed](Stage stage) { timed.enter(stage); },
                     {std::move(model), std::move(average), std::move(optimize)});
  }
  /// For the parts: stands in front of what it times. A recording has no times, and a rank that is alone no
  /// stage comm.
  void enter(Stage stage);

  /// On which steps are launched and recorded: hooks of gradients have to be made for it.
  c10::Stream stream() const;

 private:
  using Enter = std::function<void(Stage)>;
  StepOutput make_step(const Enter& enter, const StepParts& parts);
  StepOutput launched();
  GraphFacts record();
  StepOutput replayed();
  void record_collectives(bool records) const;

  void copy(const Batch& from, Batch& to) override;
  void write_rate(double learning_rate) override;
  void model(const Batch& batch) override;
  void average() override;
  void optimize() override;
  void begin_recording() override;
  void end_recording() override;
  void replay() override;

  GraphConfig config_;
  c10::Device device_;
  const CudaPlugin* plugin_;  ///< null with graph.enabled = false
  c10::Stream side_;
  std::vector<Comm*> groups_;           ///< groups of several ranks; empty where one process trains alone
  FusedAdam* adam_ = nullptr;           ///< null in tests without one
  std::unique_ptr<StepRecorder> step_;  ///< null with graph.enabled = false
  Batch batch_;                         ///< the batch of this step
  std::int64_t launched_steps_ = 0;
  CudaGraph* graph_ = nullptr;
  bool is_recording_ = false;
  bool is_ending_ = false;   ///< no operation is at fault then
  std::int64_t layout_ = 0;  ///< Parameters::layout_version when it was recorded
  StepOutput recorded_;      ///< where a replay leaves its results
  // These belong to the step under way.
  const StepParts* parts_ = nullptr;
  const Enter* enter_ = nullptr;
  Stage stage_ = Stage::forward;
  StepOutput now_;  ///< output of parts that were launched
};

}  // namespace isobar
