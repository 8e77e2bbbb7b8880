#pragma once
// Read before main.cpp by ./isobar run 01_baseline --mine: its Parameters zero their gradients, its loss and
// its Adam compute, with your part.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "01_baseline/exercise/part.h"
#include "check/own_part.h"
#include "model/vit.h"
#include "run/run.h"
#include "train/adam.h"
#include "train/evaluate.h"
#include "train/loss.h"
#include "train/training_state.h"
#include "train/weights.h"

namespace isobar {

inline const exercise::Part& your_part() { return own_part_as<exercise::Part>(); }

class YourParameters : public Parameters {
 public:
  void zero_gradients() {
    if (piles_up()) return;  // run.fault=no_zero_grad
    at::Tensor flat = gradients();
    your_part().zero_gradients(flat);
  }
};

inline at::Tensor your_relative_l2(const at::Tensor& prediction, const at::Tensor& target) {
  return your_part().relative_l2(prediction, target);
}

class YourAdam final : public Optimizer {
 public:
  YourAdam(Parameters& parameters, const OptimConfig& config)
      : parameters_(parameters),
        setting_{.beta1 = config.beta1, .beta2 = config.beta2, .eps = config.eps},
        state_{.mean = at::zeros_like(parameters.values()), .square = at::zeros_like(parameters.values())} {}

  void step(double learning_rate) {
    const at::NoGradGuard no_grad;
    at::Tensor weights = parameters_.values();
    your_part().adam_step(weights, parameters_.gradients(), state_, learning_rate, setting_);
  }

  std::int64_t steps() const override { return state_.steps; }
  void set_steps(std::int64_t steps) override { state_.steps = steps; }
  std::vector<NamedTensor> moments() const override {
    return moments_by_parameter(parameters_, state_.mean, state_.square);
  }

 private:
  Parameters& parameters_;
  exercise::AdamSetting setting_;
  exercise::AdamState state_;
};

}  // namespace isobar

#define Parameters YourParameters
#define relative_l2 your_relative_l2
#define Adam YourAdam
