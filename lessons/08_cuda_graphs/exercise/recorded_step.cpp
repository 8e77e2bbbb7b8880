// Lesson 08: a step that is recorded once and replayed: what may be in the recording, and what stays outside.
// exercise.h says what is given and what is promised; ./isobar check 08_cuda_graphs looks at what you wrote.
#include <string>
#include <utility>

#include "08_cuda_graphs/exercise/exercise.h"

namespace isobar::mine {

using exercise::DeviceMemory;
using exercise::GraphDevice;
using exercise::StepWork;

class StepRecording : public exercise::RecordedStep {
 public:
  StepRecording(GraphDevice& device, StepWork work, std::int64_t warmup)
      : device_(device), work_(std::move(work)), warmup_(warmup) {}

  void renew(const DeviceMemory& batch, double rate) override {
    // BEGIN Allocate batch_ and rate_, once. Refuse another size. Put batch and rate there.
    if (batch_.values == 0) {
      batch_ = device_.allocate(batch.values);
      rate_ = device_.allocate(1);
    }
    if (batch.values != batch_.values)
      throw std::invalid_argument("a batch of " + std::to_string(batch.values) +
                                  " values, where the step takes " + std::to_string(batch_.values));
    device_.copy(batch, batch_);
    device_.write(rate, rate_);
    // END
  }

  void launch() override {
    // BEGIN The four pieces of a step, one after the other, on what was renewed.
    ask();
    work_.report();
    ++launched_;
    // END
  }

  bool record_is_due() const override {
    // BEGIN Warm-up steps come first, and one recording is enough.
    //> return false;
    return !recorded_ && launched_ >= warmup_;
    // END
  }

  void record() override {
    // BEGIN What of a step may stand between begin_recording() and end_recording()?
    device_.begin_recording();
    ask();
    device_.end_recording();
    recorded_ = true;
    // END
  }

  void replay() override {
    // BEGIN The recording, and what is not in it.
    device_.replay();
    work_.report();
    // END
  }

  bool recorded() const override { return recorded_; }

 private:
  /// Asks for what the device does in a step.
  void ask() {
    // BEGIN Which of the four pieces?
    work_.forward(batch_);
    work_.backward();
    work_.optimize(rate_);
    // END
  }

  GraphDevice& device_;
  const StepWork work_;
  const std::int64_t warmup_;
  DeviceMemory batch_;  ///< from which every step reads
  DeviceMemory rate_;   ///< likewise, one value
  std::int64_t launched_ = 0;
  bool recorded_ = false;
};

std::unique_ptr<exercise::RecordedStep> make_recorded_step(GraphDevice& device, StepWork work,
                                                           std::int64_t warmup) {
  return std::make_unique<StepRecording>(device, std::move(work), warmup);
}

}  // namespace isobar::mine
