#pragma once
// Mistakes at moments of a step. Each of these does nothing unless the fault is one of its own.
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "comm/comm.h"
#include "config/config.h"
#include "config/fault.h"
#include "model/parameters.h"

namespace isobar {

class StepFaults {
 public:
  /// `parameters` and `world` outlive it. all_half rounds the weights at once.
  StepFaults(const FaultSetting& fault, const Config& config, Parameters& parameters, Comm& world);

  /// In front of step `step`.
  void begin(std::int64_t step);
  /// A stage of step `step` begins, or something that is no step.
  void entered(std::string_view stage, std::int64_t step);
  /// Behind the last stage. sync_each_step waits for `loss` (scalar, may be undefined).
  void ended(const at::Tensor& loss);

 private:
  FaultSetting fault_;
  std::optional<c10::ScalarType> half_;
  std::int64_t replicas_;
  Parameters& parameters_;
  Comm& world_;
};

}  // namespace isobar
