// ./isobar run 01_baseline --mine: gradients are zeroed, the loss and Adam computed, with the learner's part.
#include "01_baseline/exercise/part.h"
#include "check/own_part.h"
#include "model/parameters.h"
#include "model/relative_l2.h"
#include "train/adam.h"

using namespace isobar;

namespace {

const exercise::Part& part() { return own_part_as<exercise::Part>(); }

const PluggedIn zero(seams::zero_gradients, [](at::Tensor& gradients) { part().zero_gradients(gradients); });
const PluggedIn loss(seams::relative_l2, [](const at::Tensor& prediction, const at::Tensor& target) {
  return part().relative_l2(prediction, target);
});
const PluggedIn adam(seams::adam_update, [](at::Tensor& weights, const at::Tensor& gradients,
                                            AdamMoments& state, double learning_rate,
                                            const OptimConfig& config) {
  exercise::AdamState yours{.mean = state.mean, .square = state.square, .steps = state.steps};
  part().adam_step(weights, gradients, yours, learning_rate,
                   {.beta1 = config.beta1, .beta2 = config.beta2, .eps = config.eps});
  state = {.mean = yours.mean, .square = yours.square, .steps = yours.steps};
});

}  // namespace
