#pragma once
// Mistakes on purpose (core/fault.h) that strike at a moment of a step.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "comm/comm.h"
#include "model/parameters.h"
#include "run/run_plan.h"

namespace isobar {

class StepFaults {
 public:
  virtual ~StepFaults() = default;
  /// In front of step `step`.
  virtual void begin(std::int64_t /*step*/) {}
  /// A stage has begun, or something that is no step; `steps_done` before it.
  virtual void entered(std::int64_t /*steps_done*/, const std::string& /*stage*/) {}
  /// Behind the last stage.
  virtual void ended(const at::Tensor& /*loss*/) {}
};

/// The one that run.fault names, null where it names none of these; `parameters` and `ranks` outlive it.
std::unique_ptr<StepFaults> make_step_faults(const RunPlan& plan, const Parameters& parameters, Comm& ranks);

/// kill_rank and stop_rank at the start, before ranks have met.
void strike_at_start(const RunPlan& plan);

}  // namespace isobar
