#include "faults/step_faults.h"

#include "device/precision.h"
#include "faults/parameter_fault.h"
#include "faults/stage_fault.h"

namespace isobar {

StepFaults::StepFaults(const FaultSetting& fault, const Config& config, Parameters& parameters, Comm& world)
    : fault_(fault),
      half_(half_type(config.amp.mode)),
      replicas_(models(config)),
      parameters_(parameters),
      world_(world) {
  round_weights(fault_, parameters_, half_);
}

void StepFaults::begin(std::int64_t step) {
  plant_in_weights(fault_, parameters_, step);
  flip_bit_of_weight(fault_, parameters_, step);
}

void StepFaults::entered(std::string_view stage, std::int64_t step) {
  strike_rank(fault_, stage, step, world_);
  slow_down(fault_, stage);
  if (stage == "optimize") plant_in_gradients(fault_, parameters_, step, replicas_);
}

void StepFaults::ended(const at::Tensor& loss) {
  round_weights(fault_, parameters_, half_);
  if (fault_.fault == Fault::sync_each_step && loss.defined()) loss.item<float>();
}

}  // namespace isobar
