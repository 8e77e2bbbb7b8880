#pragma once
// What the memory of a device is held for, block by block: who takes a block enters it here, and takes it out
// again. One step can be kept as events. Any thread may call; costs tens of nanoseconds a block.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/memory_timeline.h"

namespace isobar {

/// What a block carries until it is given back.
struct BlockTag {
  std::uint64_t bytes = 0;
  MemoryCategory category = MemoryCategory::workspace;
  std::uint64_t number = 0;  ///< names a block that a ledger lists; 0 = it lists it nowhere
};

/// A recorded step as it went.
struct LedgerRecord {
  struct Block {
    std::uint64_t bytes = 0;
    MemoryCategory category = MemoryCategory::workspace;
    std::string_view module = {};   ///< the module that took it, one of `modules`; "" = none
    const char* stage = "";         ///< the stage that took it; "" = none, or before the step
    std::uint32_t entry = 0;        ///< which entry of a stage took it; 0 = before the step
    std::uint32_t freed_entry = 0;  ///< which entry gave it back; 0 = it lives
    bool freed_in_module = false;   ///< inside a module of the model
  };
  struct Event {
    std::int64_t at_us = 0;   ///< steady clock
    std::uint32_t block = 0;  ///< place in `blocks`
    bool takes = true;
  };
  std::array<std::uint64_t, kHeldCategories> before = {};  ///< held when the step began
  std::vector<Block> blocks =
      {};  ///< those of the step; before them large ones that were there, with a scope
  std::vector<Event> events = {};
  std::set<std::string, std::less<>> modules = {};
  std::uint64_t peak_bytes = 0;  ///< the most at once, counted without the events
  std::int64_t begin_us = 0;
};

class MemoryLedger {
 public:
  /// This thread takes a block: of the category of its innermost MemoryScope, else of the stage that runs.
  BlockTag take(std::uint64_t bytes);
  void give_back(const BlockTag& tag);

  std::array<std::uint64_t, kHeldCategories> held() const;
  std::uint64_t total() const;
  std::uint64_t most() const;  ///< at once since the program began

  /// `others`: bytes that are held and were not entered; they count as workspace.
  void begin_record(std::uint64_t others = 0);
  LedgerRecord end_record();
  bool records() const;

 private:
  std::uint64_t sum() const;  ///< with the lock
  /// The place of a block in the record, where it is put if it is not there.
  std::uint32_t place_in_record(const BlockTag& tag);

  mutable std::mutex mutex_;
  std::array<std::uint64_t, kHeldCategories> held_ = {};
  std::uint64_t most_ = 0;
  std::uint64_t next_ = 0;                                ///< number of the last block that was listed
  std::map<std::uint64_t, LedgerRecord::Block> listed_;   ///< large blocks with a scope, while they live
  std::map<std::uint64_t, std::uint32_t> listed_before_;  ///< their places in the record
  std::uint64_t records_so_far_ = 0;
  bool records_ = false;
  LedgerRecord record_;
};

/// Tensors in the memory of the host, and what else it holds for training.
MemoryLedger& host_ledger();
/// Tensors of the CUDA device that this process trains on.
MemoryLedger& device_ledger();

/// Whether a MemoryScope of this thread lives.
bool has_memory_scope();

/// What the blocks that this thread takes are for, while one lives; the innermost counts. A stage decides
/// where there is none: forward takes activations (head and loss workspace), load and copy batches, comm
/// communication; backward, optimize and what is outside of all stages workspace.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryCategory category);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  int outer_;
};

/// Memory of the host that is no tensor's: slots of loaders, what ranks share.
class HeldMemory {
 public:
  HeldMemory(MemoryCategory category, std::uint64_t bytes);
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

 private:
  BlockTag tag_;
};

/// The stage that all threads are in from now on, a literal; "" = none.
void enter_memory_stage(const char* stage);

/// The part of the model that a module belongs to: "embed", "blocks.3" or "head"; "" where it is none.
std::string_view owner_of_module(std::string_view module);

}  // namespace isobar
