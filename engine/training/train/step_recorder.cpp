#include "train/step_recorder.h"

#include <cstdint>

namespace isobar {
namespace {

class OwnStepRecorder final : public StepRecorder {
 public:
  OwnStepRecorder(StepDevice& device, const GraphConfig& config) : device_(device), config_(config) {}

  void renew(const Batch& batch, double learning_rate) override {
    if (!recorded_ || !has_fault(Fault::lr_baked_in)) device_.write_rate(learning_rate);
    if (!recorded_ || !has_fault(Fault::stale_input)) device_.copy(batch, fixed_);
  }

  void launch() override {
    device_.model(fixed_);
    device_.average();
    device_.optimize();
    ++launched_;
  }

  bool record_is_due() const override { return !recorded_ && launched_ >= config_.warmup; }

  void record() override {
    device_.begin_recording();
    device_.model(fixed_);
    if (config_.collectives) device_.average();
    if (config_.scope == GraphScope::step) device_.optimize();
    device_.end_recording();
    recorded_ = true;
  }

  bool recorded() const override { return recorded_; }

  void replay() override {
    device_.replay();
    if (config_.scope == GraphScope::step) return;
    if (!config_.collectives) device_.average();
    device_.optimize();
  }

 private:
  StepDevice& device_;
  GraphConfig config_;
  Batch fixed_;
  std::int64_t launched_ = 0;
  bool recorded_ = false;
};

}  // namespace

constinit Seam<std::unique_ptr<StepRecorder>(StepDevice&, const GraphConfig&)> seams::step_recorder{
    [](StepDevice& device, const GraphConfig& config) -> std::unique_ptr<StepRecorder> {
      return std::make_unique<OwnStepRecorder>(device, config);
    }};

}  // namespace isobar
