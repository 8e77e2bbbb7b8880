// ./isobar run 08_cuda_graphs --mine: the learner's step decides what is copied, launched, recorded and
// replayed. Streams, and what ranks ask of a recording, are the engine's.
#include "08_cuda_graphs/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "train/step_recorder.h"

using namespace isobar;

namespace {

/// The learner's memory is the place of a batch; the one that holds a rate stays empty.
class DeviceOfStep final : public exercise::GraphDevice {
 public:
  explicit DeviceOfStep(StepDevice& device) : device_(device) {}

  exercise::DeviceMemory came(const Batch& batch) {
    batches_.front() = batch;
    return {.address = 0, .values = static_cast<std::size_t>(batch.input.numel())};
  }
  const Batch& at(const exercise::DeviceMemory& memory) const { return batches_.at(memory.address); }

  exercise::DeviceMemory allocate(std::size_t values) override {
    batches_.emplace_back();
    return {.address = batches_.size() - 1, .values = values};
  }
  void copy(const exercise::DeviceMemory& from, const exercise::DeviceMemory& to) override {
    device_.copy(batches_.at(from.address), batches_.at(to.address));
  }
  void write(double value, const exercise::DeviceMemory& /*to*/) override { device_.write_rate(value); }
  void begin_recording() override { device_.begin_recording(); }
  void end_recording() override { device_.end_recording(); }
  void replay() override { device_.replay(); }

 private:
  StepDevice& device_;
  std::vector<Batch> batches_ = std::vector<Batch>(1);  ///< the first: the one of this step, where it came
};

class YourStep final : public StepRecorder {
 public:
  YourStep(StepDevice& device, std::int64_t warmup)
      : device_(device),
        yours_(own_part_as<exercise::Part>().make_recorded_step(device_, work(device), warmup)) {}

  void renew(const Batch& batch, double learning_rate) override {
    yours_->renew(device_.came(batch), learning_rate);
  }
  void launch() override { yours_->launch(); }
  bool record_is_due() const override { return yours_->record_is_due(); }
  void record() override { yours_->record(); }
  bool recorded() const override { return yours_->recorded(); }
  void replay() override { yours_->replay(); }

 private:
  /// The page has one function for forward and backward. It reads the loss in step.finish.
  exercise::StepWork work(StepDevice& device) {
    return {
        .forward = [this, &device](const exercise::DeviceMemory& batch) { device.model(device_.at(batch)); },
        .backward = [&device] { device.average(); },
        .optimize = [&device](const exercise::DeviceMemory& /*rate*/) { device.optimize(); },
        .report = [] {}};
  }

  DeviceOfStep device_;
  std::unique_ptr<exercise::RecordedStep> yours_;
};

const PluggedIn step(seams::step_recorder,
                     [](StepDevice& device, const GraphConfig& config) -> std::unique_ptr<StepRecorder> {
                       if (config.scope != GraphScope::step)
                         throw Error("your step is recorded as a whole", "graph.scope = model",
                                     "graph.scope=step");
                       return std::make_unique<YourStep>(device, config.warmup);
                     });

}  // namespace
