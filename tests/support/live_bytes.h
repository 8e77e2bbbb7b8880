#pragma once
// Bytes of the CPU's tensors that live, counted by libtorch's allocator on this thread.
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace isobar {

/// Counts those that are made while one stands; it takes the place of a profiler.
class LiveBytes {
 public:
  std::int64_t now() const { return count_->now; }
  std::int64_t most() const { return count_->most; }

 private:
  struct Count : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
      now += bytes;
      most = std::max(most, now);
    }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t now = 0, most = 0;
  };
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, count_};
};

}  // namespace isobar
