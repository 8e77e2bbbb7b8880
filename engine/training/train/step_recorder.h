#pragma once
// When a step is launched, recorded or replayed: the part of a StepGraph that an exercise writes.
#include <memory>

#include "config/config.h"
#include "core/seam.h"
#include "data/loader.h"

namespace isobar {

/// Does what a step asks for: at once, or between begin_recording and end_recording in each replay.
class StepDevice {
 public:
  virtual ~StepDevice() = default;
  /// Error (exit code 2) when the batch has another shape than the one before it. `to` may be empty at first;
  /// then it stays where it is.
  virtual void copy(const Batch& from, Batch& to) = 0;
  virtual void write_rate(double learning_rate) = 0;

  // The parts of a step (StepParts).
  virtual void model(const Batch& batch) = 0;
  virtual void average() = 0;
  virtual void optimize() = 0;

  virtual void begin_recording() = 0;
  virtual void end_recording() = 0;
  /// Asks for all that was recorded, with one call.
  virtual void replay() = 0;
};

/// In each step: `renew`, `record` if it is due, then `replay` or `launch`.
class StepRecorder {
 public:
  virtual ~StepRecorder() = default;
  /// Brings what is new in this step to where all steps read it.
  virtual void renew(const Batch& batch, double learning_rate) = 0;
  virtual void launch() = 0;
  virtual bool record_is_due() const = 0;
  /// Makes no step.
  virtual void record() = 0;
  virtual bool recorded() const = 0;
  /// The recording, and what was left out of it.
  virtual void replay() = 0;
};

namespace seams {

/// `device` outlives what is made.
extern constinit Seam<std::unique_ptr<StepRecorder>(StepDevice& device, const GraphConfig& config)>
    step_recorder;

}  // namespace seams
}  // namespace isobar
