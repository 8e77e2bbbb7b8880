#pragma once
// What is given and what is promised in the exercise of lesson 08. You write my/08_recorded_step.cpp.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace isobar::exercise {

/// Memory of a device. Copies of this mean the same memory.
struct DeviceMemory {
  std::size_t address = 0;
  std::size_t values = 0;  ///< 0 = none
};

/// Given: a device that does what it is asked for, in order. What can be recorded is as on a GPU.
class GraphDevice {
 public:
  virtual ~GraphDevice() = default;
  /// Memory at an address of its own, which stays. Not while a step is recorded.
  virtual DeviceMemory allocate(std::size_t values) = 0;
  /// Asks for a copy between memories of one size. Recorded, it copies between these two addresses for ever.
  virtual void copy(const DeviceMemory& from, const DeviceMemory& to) = 0;
  /// Asks for `value` to be written. Recorded, it writes this very value for ever.
  virtual void write(double value, const DeviceMemory& to) = 0;

  /// From here to end_recording() all that is asked for is written down, with its addresses, and not done.
  virtual void begin_recording() = 0;
  virtual void end_recording() = 0;
  /// Asks for all that was written down, with one call. Not while a step is recorded.
  virtual void replay() = 0;
};

/// Given: what a step consists of, in this order. The first use of each sets libraries up, which cannot be
/// recorded.
struct StepWork {
  std::function<void(const DeviceMemory& batch)> forward;  ///< asks for the loss of the batch that lies there
  std::function<void()> backward;                          ///< asks for its gradients
  std::function<void(const DeviceMemory& rate)>
      optimize;  ///< asks for the update; one value, the rate, lies there
  /// The host waits for the loss and writes it to the log. Cannot be recorded: while it is, nothing runs.
  std::function<void()> report;
};

/// A step that is launched piece by piece at first, then recorded once, and replayed from then on. In each
/// step:
///     step->renew(batch, rate);
///     if (step->record_is_due()) step->record();
///     step->recorded() ? step->replay() : step->launch();
class RecordedStep {
 public:
  virtual ~RecordedStep() = default;
  /// Puts what is new in this step to where all steps read it. The next batch comes in other memory, and that
  /// of this one is taken back. Throws std::invalid_argument where `batch` is larger or smaller than the
  /// first one was.
  virtual void renew(const DeviceMemory& batch, double rate) = 0;
  /// Makes a step, piece by piece.
  virtual void launch() = 0;
  /// Whether `warmup` steps were launched, and none is recorded yet.
  virtual bool record_is_due() const = 0;
  /// Records a step without making it: all of it that the device does.
  virtual void record() = 0;
  virtual bool recorded() const = 0;
  /// Makes a step: the recorded part with one call, and what was left out of it.
  virtual void replay() = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: allocates no memory after the first step. `device` outlives what is made.
std::unique_ptr<exercise::RecordedStep> make_recorded_step(exercise::GraphDevice& device,
                                                           exercise::StepWork work, std::int64_t warmup);

}  // namespace isobar::mine
