#include "faults/parameter_fault.h"

#include <ATen/core/grad_mode.h>

#include <limits>

#include "comm/replica_hash.h"

namespace isobar {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kSeedsOfItsOwn = 1'000'003;  // far from any train.seed that somebody would choose
constexpr int kBit = 12;                            // a bit of the mantissa: no loss shows it

const Parameter& middle(const Parameters& parameters) {
  return parameters.all()[parameters.all().size() / 2];
}

void plant(const at::Tensor& tensor, float value) {
  const at::NoGradGuard no_grad;
  tensor.view(-1)[0].fill_(value);
}

}  // namespace

void spoil(const FaultSetting& fault, Parameters& parameters, int replica) {
  if (fault.fault == Fault::no_zero_grad) parameters.pile_up_gradients();
  if (fault.fault != Fault::no_broadcast || replica == 0) return;
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters.all())
    at::Tensor(parameter.tensor.detach()).copy_(initial_values(parameter, kSeedsOfItsOwn + replica));
}

void plant_in_weights(const FaultSetting& fault, Parameters& parameters, std::int64_t step) {
  if (fault.fault == Fault::nan_weight && fault.step == step) plant(middle(parameters).tensor, kNan);
}

void plant_in_gradients(const FaultSetting& fault, Parameters& parameters, std::int64_t step,
                        std::int64_t replicas) {
  if (fault.step != step) return;
  if (fault.fault == Fault::nan_in_padding) parameters.gradients()[-1].fill_(kNan);
  if (fault.fault == Fault::nan_gradient) plant(middle(parameters).tensor.grad(), kNan);
  if (fault.fault == Fault::inject_inf && replicas == 1) plant(middle(parameters).tensor.grad(), kInfinity);
}

void round_weights(const FaultSetting& fault, Parameters& parameters, std::optional<c10::ScalarType> half) {
  if (fault.fault != Fault::all_half || !half) return;
  const at::NoGradGuard no_grad;
  at::Tensor values = parameters.values();
  values.copy_(values.to(*half));
}

void flip_bit_of_weight(const FaultSetting& fault, Parameters& parameters, std::int64_t step) {
  if (fault.fault != Fault::flip_bit || fault.step != step || !fault.strikes_here()) return;
  flip_bit(parameters.values(), parameters.all().back().flat_begin, kBit);
}

}  // namespace isobar
