#pragma once
// Read before main.cpp by ./isobar run 04_amp --mine: its GradScaler is this one, on your part.
#include <ATen/TensorOperators.h>

#include <memory>
#include <span>
#include <string>

#include "04_amp/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "run/run.h"
#include "train/grad_scaler.h"
#include "train/training_state.h"

namespace isobar {

/// The state stays in the tensors of the engine's scaler, where stream and checkpoints look for it.
class YourGradScaler : public GradScaler {
 public:
  YourGradScaler(const AmpConfig& config, c10::Device device)
      : GradScaler(config, device),
        setting_{
            .growth = config.growth, .backoff = config.backoff, .growth_interval = config.growth_interval} {
    if (!active())
      throw Error("your scaler has nothing to do: this run does not scale its loss", "amp.mode",
                  "./isobar run 04_amp --mine --set amp.mode=fp16");
  }

  at::Tensor scale(const at::Tensor& loss) {
    const auto& part = own_part_as<exercise::Part>();
    scaler_ = part.make_scaler(setting_, kept());  // anew in each step: it may be that of a checkpoint
    return loss * scaler_->scale(1);
  }

  bool unscale(Parameters& parameters) {
    at::Tensor gradients = parameters.gradients();
    const at::Tensor on_host = gradients.cpu();  // no copy where it is there already
    const bool good =
        scaler_->unscale({on_host.mutable_data_ptr<float>(), static_cast<std::size_t>(on_host.numel())});
    if (!gradients.is_same(on_host)) gradients.copy_(on_host);
    overflow().fill_(good ? 0 : 1);
    return good;
  }

  void update() {
    scaler_->update();
    const exercise::ScalerState state = scaler_->state();
    GradScaler::update();  // counts the skipped steps; scale and good steps are yours
    tensor("scale").fill_(state.scale);
    tensor("growth_tracker").fill_(state.good_steps);
  }

 private:
  at::Tensor tensor(const std::string& name) const {
    for (const NamedTensor& named : state())
      if (named.name == name) return named.tensor;
    throw Error("the scaler keeps no such tensor", name, "", Exit::failed);
  }

  exercise::ScalerState kept() const {
    return {tensor("scale").item<float>(), tensor("growth_tracker").item<int>()};
  }

  exercise::ScalerSetting setting_;
  std::unique_ptr<exercise::LossScaler> scaler_;
};

}  // namespace isobar

#define GradScaler YourGradScaler
