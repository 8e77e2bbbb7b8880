#pragma once
// What a profiler of NVIDIA sees of a run: each step and its stages by name, and which epoch it is to keep.
#include <cstdint>

#include "device/cuda_plugin.h"
#include "device/stage_timer.h"

namespace isobar {

/// Ranges of one step under the names of the ERA5 tutorial, so that timelines of both read alike: within
/// "step N", N from 0, the ranges "load", "data copy in N", "forward", "backward" and "optimizer".
class StepRanges {
 public:
  /// Without a plugin (null) no range is made.
  StepRanges(const CudaPlugin* plugin, std::int64_t step);
  /// Closes what is open.
  ~StepRanges() { finish(); }
  StepRanges(const StepRanges&) = delete;
  StepRanges& operator=(const StepRanges&) = delete;

  /// The stage that began; the one before has ended.
  void enter(Stage stage);
  void finish();

 private:
  const CudaPlugin* plugin_;
  std::int64_t step_;
  bool in_stage_ = false;
};

/// Starts and stops the profiler around the steps of one epoch: `nsys profile -c cudaProfilerApi` keeps those
/// and nothing else.
class EpochProfiler {
 public:
  /// `epoch` counts from 1; 0, or no plugin (null): no epoch.
  EpochProfiler(const CudaPlugin* plugin, std::int64_t epoch);
  ~EpochProfiler() { stop(); }
  EpochProfiler(const EpochProfiler&) = delete;
  EpochProfiler& operator=(const EpochProfiler&) = delete;

  /// Steps count from 0 over all epochs. An epoch that a resumed run enters in its middle is kept from there.
  void begin_step(std::int64_t step, std::int64_t steps_per_epoch);
  void end_step(std::int64_t step, std::int64_t steps_per_epoch);

 private:
  void stop();

  const CudaPlugin* plugin_;
  std::int64_t epoch_;
  bool on_ = false;
};

}  // namespace isobar
