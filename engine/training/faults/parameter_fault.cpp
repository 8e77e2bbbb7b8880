#include "faults/parameter_fault.h"

#include <ATen/core/grad_mode.h>

#include <limits>

#include "comm/replica_hash.h"
#include "core/error.h"

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
  if (tensor.numel() > 0) tensor.view(-1)[0].fill_(value);
}

/// Where ranks share parameters out, this one updates with gradients of its share alone.
void plant_in_gradient(const Parameters& parameters, float value) {
  plant(parameters.own_gradients(middle(parameters)), value);
}

}  // namespace

void spoil(const FaultSetting& fault, Parameters& parameters, int replica) {
  if (fault.fault == Fault::nan_in_padding && parameters.is_shared_out())
    throw Error("run.fault = nan_in_padding writes behind the one buffer of all gradients", "mesh.zero",
                "mesh.zero=0");
  if (fault.fault == Fault::no_zero_grad) parameters.pile_up_gradients();
  if ((fault.fault != Fault::no_broadcast && fault.fault != Fault::no_init_sync) || replica == 0) return;
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor values = initial_values(parameter, kSeedsOfItsOwn + replica);
    if (parameters.shared_layout().whole_values) at::Tensor(parameter.tensor.detach()).copy_(values);
    const OwnStretch own = parameters.own_stretch(parameter);
    parameters.own_values(parameter).copy_(values.view(-1).narrow(0, own.in_parameter, own.count));
  }
}

void plant_in_weights(const FaultSetting& fault, Parameters& parameters, std::int64_t step) {
  if (fault.fault != Fault::nan_weight || fault.step != step) return;
  if (parameters.shared_layout().whole_values) plant(middle(parameters).tensor, kNan);
  plant(parameters.own_values(middle(parameters)), kNan);
}

void plant_in_gradients(const FaultSetting& fault, Parameters& parameters, std::int64_t step,
                        std::int64_t replicas) {
  if (fault.step != step) return;
  if (fault.fault == Fault::nan_in_padding) parameters.gradients()[-1].fill_(kNan);
  if (fault.fault == Fault::nan_gradient) plant_in_gradient(parameters, kNan);
  if (fault.fault == Fault::inject_inf && replicas == 1) plant_in_gradient(parameters, kInfinity);
}

void round_weights(const FaultSetting& fault, Parameters& parameters, std::optional<c10::ScalarType> half) {
  if (fault.fault != Fault::all_half || !half) return;
  const at::NoGradGuard no_grad;
  const auto round = [&](at::Tensor values) { values.copy_(values.to(*half)); };
  for (const OwnPiece& piece : parameters.own()) round(piece.values);
  if (parameters.shared_layout().whole_values) round(parameters.values());
}

void flip_bit_of_weight(const FaultSetting& fault, Parameters& parameters, std::int64_t step) {
  if (fault.fault != Fault::flip_bit || fault.step != step || !fault.strikes_here()) return;
  const Parameter& last = parameters.all().back();
  if (parameters.shared_layout().whole_values) return flip_bit(parameters.values(), last.flat_begin, kBit);
  if (const at::Tensor own = parameters.own_values(last); own.numel() > 0) flip_bit(own, 0, kBit);
}

}  // namespace isobar
