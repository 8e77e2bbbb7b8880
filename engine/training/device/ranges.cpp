#include "device/ranges.h"

#include <fmt/format.h>

#include <string>

namespace isobar {
namespace {

std::string range_name(Stage stage, std::int64_t step) {
  if (stage == Stage::copy) return fmt::format("data copy in {}", step);
  if (stage == Stage::optimize) return "optimizer";
  return name_of(stage);
}

}  // namespace

StepRanges::StepRanges(const CudaPlugin* plugin, std::int64_t step) : plugin_(plugin), step_(step) {
  if (plugin_ != nullptr) plugin_->push_range(fmt::format("step {}", step).c_str());
}

void StepRanges::enter(Stage stage) {
  if (plugin_ == nullptr) return;
  if (in_stage_) plugin_->pop_range();
  plugin_->push_range(range_name(stage, step_).c_str());
  in_stage_ = true;
}

void StepRanges::finish() {
  if (plugin_ == nullptr) return;
  if (in_stage_) plugin_->pop_range();
  plugin_->pop_range();
  plugin_ = nullptr;
}

EpochProfiler::EpochProfiler(const CudaPlugin* plugin, std::int64_t epoch)
    : plugin_(epoch > 0 ? plugin : nullptr), epoch_(epoch) {}

void EpochProfiler::begin_step(std::int64_t step, std::int64_t steps_per_epoch) {
  if (plugin_ == nullptr || on_ || steps_per_epoch < 1 || step / steps_per_epoch + 1 != epoch_) return;
  plugin_->start_profiler();
  on_ = true;
}

void EpochProfiler::end_step(std::int64_t step, std::int64_t steps_per_epoch) {
  if (on_ && (step + 1) % steps_per_epoch == 0) stop();
}

void EpochProfiler::stop() {
  if (on_) plugin_->stop_profiler();
  on_ = false;
}

}  // namespace isobar
