// ./isobar run 04_amp --mine: its GradScaler goes by the learner's rule. The state stays in the engine's
// tensors, where stream and checkpoints look for it.
#include <ATen/TensorOperators.h>

#include <memory>

#include "04_amp/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "run/run_plan.h"
#include "train/grad_scaler.h"

using namespace isobar;

namespace {

class RuleOfPart final : public ScalingRule {
 public:
  explicit RuleOfPart(const AmpConfig& config)
      : setting_{
            .growth = config.growth, .backoff = config.backoff, .growth_interval = config.growth_interval} {}

  at::Tensor scale(const at::Tensor& loss, const ScalerTensors& state) override {
    // Made anew in each step: the state may be that of a checkpoint.
    scaler_ = own_part_as<exercise::Part>().make_scaler(
        setting_, {.scale = state.scale.item<float>(), .good_steps = state.good_steps.item<int>()});
    return loss * scaler_->scale(1);
  }
  void unscale(const at::Tensor& gradients, ScalerTensors& state) override {
    const at::Tensor on_host = gradients.cpu();  // no copy where it is there already
    const bool good =
        scaler_->unscale({on_host.mutable_data_ptr<float>(), static_cast<std::size_t>(on_host.numel())});
    if (!gradients.is_same(on_host)) gradients.copy_(on_host);
    state.overflow.fill_(good ? 0 : 1);
  }
  void update(ScalerTensors& state) override {
    scaler_->update();
    const exercise::ScalerState next = scaler_->state();
    state.scale.fill_(next.scale);
    state.good_steps.fill_(next.good_steps);
  }

 private:
  exercise::ScalerSetting setting_;
  std::unique_ptr<exercise::LossScaler> scaler_;
};

const PluggedIn rule(seams::scaling_rule, [](const AmpConfig& config) -> std::unique_ptr<ScalingRule> {
  return std::make_unique<RuleOfPart>(config);
});
const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.amp.mode == AmpMode::fp16 && !has_fault(Fault::no_scaler)) return;
  throw Error("your scaler has nothing to do: this run does not scale its loss", "amp.mode",
              "./isobar run 04_amp --mine --set amp.mode=fp16");
});

}  // namespace
