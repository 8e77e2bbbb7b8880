#pragma once
// Records what one step of a run holds in the memory of its device, by category (device/memory_ledger.h).
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "device/cuda_plugin.h"
#include "device/memory_ledger.h"
#include "record/memory_timeline.h"
#include "running/stage_clock.h"

namespace isobar {

/// The record as a timeline. An activation that its forward pass gave back before it ended is workspace, and
/// one of a pass that is computed again in backward where a module gave it back. `stages` are those of the
/// step on the steady clock, in their order.
MemoryTimeline as_timeline(const LedgerRecord& record, const std::vector<StageInterval>& stages);

/// From now on blocks of this CUDA device are entered in device_ledger(): outside of a record those alone
/// that a scope names, since a step takes hundreds of others.
void watch_device_blocks(const CudaPlugin& plugin, int device);

class MemoryRecorder {
 public:
  /// Blocks of `device` are counted from here on; on a CPU those that come from use_fitting_cpu_blocks.
  explicit MemoryRecorder(c10::Device device);

  /// From now on the step is recorded, until `end`.
  void begin();
  bool records() const { return records_; }
  void enter(const char* stage) const { enter_memory_stage(stage); }
  /// What was recorded, thinned, with what the program takes. Between steps blocks belong to no stage.
  MemoryTimeline end(const std::vector<StageInterval>& stages);

  /// The step that was recorded; nothing before.
  const std::optional<MemoryTimeline>& timeline() const { return timeline_; }

 private:
  MemoryLedger& ledger() const;
  std::uint64_t program_bytes() const;

  c10::Device device_;
  bool records_ = false;
  std::optional<MemoryTimeline> timeline_;
};

/// Which step of an attempt of `steps` steps is recorded, from 0, where one of them, `watched`, is looked
/// into otherwise (-1: none): the third, else the fourth, else the last that is left; a single one in any
/// case.
std::int64_t recorded_step(std::int64_t steps, std::int64_t watched);

}  // namespace isobar
