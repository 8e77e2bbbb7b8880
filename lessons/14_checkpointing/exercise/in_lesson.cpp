// ./isobar run 14_checkpointing --mine: blocks that are computed again (model.checkpoint = selective, block)
// go through the learner's forward and backward. What a pass over blocks is, and which blocks make a run, is
// the engine's.
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "14_checkpointing/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "device/autograd_calls.h"
#include "fused/recomputed.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

exercise::Activation activation_of(TensorPair pair) {
  return {std::make_shared<TensorPair>(std::move(pair))};
}

TensorPair& pair_in(const exercise::Activation& activation) {
  if (activation.memory == nullptr)
    throw Error("your pass hands over an activation that is none", "my/14_recompute.cpp",
                "./isobar check 14_checkpointing", Exit::failed);
  return *static_cast<TensorPair*>(activation.memory.get());
}

struct CastState {
  bool enabled = false, caches = true;
  at::ScalarType type = at::kFloat;
};

/// A run of blocks on the tape of autograd. Its input is a pair: the stream, and its norm.
class RunOnTape final : public exercise::BlockRun {
 public:
  RunOnTape(Recomputed function, c10::Device device) : function_(std::move(function)), device_(device) {}

  exercise::Activation forward(const exercise::Activation& input) override {
    return activation_of(function_.forward(pair_in(input)));
  }
  std::unique_ptr<exercise::RecordedPass> record(const exercise::Activation& input) override {
    return std::make_unique<Recorded>(*this, pair_in(input));
  }

  exercise::RandomState random_state() const override {
    auto out = std::make_shared<std::vector<at::Tensor>>();
    for (at::Generator& generator : generators()) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      out->push_back(generator.get_state());
    }
    return {out};
  }
  void set_random_state(const exercise::RandomState& state) override {
    const auto& states = *static_cast<const std::vector<at::Tensor>*>(state.held.get());
    std::vector<at::Generator> to = generators();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::lock_guard<std::mutex> lock(to[i].mutex());
      to[i].set_state(states[i]);
    }
  }
  exercise::AutocastState autocast() const override {
    return {std::make_shared<CastState>(at::autocast::is_autocast_enabled(device_.type()),
                                        at::autocast::is_autocast_cache_enabled(),
                                        at::autocast::get_autocast_dtype(device_.type()))};
  }
  void set_autocast(const exercise::AutocastState& state) override {
    const auto& to = *static_cast<const CastState*>(state.held.get());
    at::autocast::clear_cache();  // weights that were cast under the other state
    at::autocast::set_autocast_enabled(device_.type(), to.enabled);
    at::autocast::set_autocast_dtype(device_.type(), to.type);
    at::autocast::set_autocast_cache_enabled(to.caches);
  }

  /// What `forward` holds of this step is no part of the graph.
  void end_forward(const exercise::Activation& input) {
    function_.forward = {};
    if (function_.second) pair_in(input)[1].reset();  // it is made again
  }

 private:
  class Recorded final : public exercise::RecordedPass {
   public:
    Recorded(const RunOnTape& run, const TensorPair& input) {
      leaves_[0] = input[0].detach();
      leaves_[1] = (run.function_.second ? run.function_.second(leaves_[0]) : input[1]).detach();
      for (at::Tensor& leaf : leaves_) leaf.set_requires_grad(true);
      const at::AutoGradMode records(true);
      results_ = run.function_.again(leaves_);
    }
    exercise::Activation backward(const exercise::Activation& of_output) override {
      std::vector<at::Tensor> roots, of_roots;
      for (std::size_t i = 0; i < results_.size(); ++i) {
        if (!pair_in(of_output)[i].defined()) continue;
        roots.push_back(results_[i]);
        of_roots.push_back(pair_in(of_output)[i]);
      }
      // Gradients of parameters arrive within it.
      torch::autograd::backward(roots, of_roots, /*retain_graph=*/false, /*create_graph=*/false, {});
      return activation_of({leaves_[0].grad(), leaves_[1].grad()});
    }

   private:
    TensorPair leaves_, results_;
  };

  std::vector<at::Generator> generators() const {
    std::vector<at::Generator> out = {at::globalContext().defaultGenerator(c10::Device(c10::kCPU))};
    if (!device_.is_cpu()) out.push_back(at::globalContext().defaultGenerator(device_));
    return out;
  }

  Recomputed function_;
  c10::Device device_;
};

/// A run with the learner's pass over it, both of which live as long as the graph.
struct PassOnTape {
  explicit PassOnTape(const Recomputed& function, c10::Device device) : run(function, device) {}

  RunOnTape run;
  std::unique_ptr<exercise::CheckpointedPass> yours =
      own_part_as<exercise::Part>().make_checkpointed_pass(run);
};

const PluggedIn pass(seams::recomputed, [](const TensorPair& inputs, const Recomputed& function) {
  const auto node = std::make_shared<PassOnTape>(function, inputs[0].device());
  return with_gradient(
      inputs, {},
      {.forward =
           [node](const TensorPair& in) {
             const exercise::Activation input = activation_of({in[0].detach(), in[1].detach()});
             const TensorPair out = pair_in(node->yours->forward(input));
             node->run.end_forward(input);
             return out;
           },
       .backward =
           [node](const std::vector<at::Tensor>&, const TensorPair& gradients) {
             return pair_in(node->yours->backward(activation_of(gradients)));
           }});
});
const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.model.checkpoint == CheckpointKind::block ||
      config.model.checkpoint == CheckpointKind::selective)
    return;
  throw Error("your pass has nothing to do: no block is computed again as a whole", "model.checkpoint",
              "--set model.checkpoint=block, or selective");
});

}  // namespace
