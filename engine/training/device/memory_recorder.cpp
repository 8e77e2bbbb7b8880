#include "device/memory_recorder.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "core/clock.h"
#include "core/memory.h"
#include "device/load_cuda.h"
#include "device/memory.h"

namespace isobar {
namespace {

/// Moments that are kept while they are made: of a step with many micro-batches there would be megabytes.
constexpr std::size_t kMostWhileMade = 4096;
constexpr std::uint32_t kNoPlace = 0xffffffffU;

bool is_transient(const LedgerRecord::Block& block) {
  if (block.category != MemoryCategory::activations || block.freed_entry == 0 || block.entry == 0)
    return false;
  const bool in_one_pass = block.freed_entry == block.entry;
  return in_one_pass && (std::string_view(block.stage) == "forward" || block.freed_in_module);
}

MemoryCategory category_of(const LedgerRecord::Block& block) {
  return is_transient(block) ? MemoryCategory::workspace : block.category;
}

/// Owners in the order of their first block, and the place of each block's owner among them; kNoPlace for one
/// that is no activation.
std::vector<std::uint32_t> owners_of(const LedgerRecord& record, std::vector<std::string>& owners) {
  std::vector<std::uint32_t> out;
  for (const LedgerRecord::Block& block : record.blocks) {
    if (category_of(block) != MemoryCategory::activations || block.entry == 0) {
      out.push_back(kNoPlace);
      continue;
    }
    const std::string_view owner = owner_of_module(block.module);
    const std::string name(owner.empty() ? "others" : owner);
    const auto found = std::ranges::find(owners, name);
    out.push_back(static_cast<std::uint32_t>(found - owners.begin()));
    if (found == owners.end()) owners.push_back(name);
  }
  return out;
}

void add_stages(const LedgerRecord& record, const std::vector<StageInterval>& stages, MemoryTimeline& out) {
  std::int64_t passes = 0, end_us = 0;
  for (const StageInterval& stage : stages) {
    const std::int64_t begin_us = std::max(end_us, stage.begin_us - record.begin_us);
    end_us = std::max(begin_us, stage.end_us - record.begin_us);
    out.stages.push_back({name_of(stage.stage), begin_us, end_us});
    if (stage.stage == Stage::forward || stage.stage == Stage::replay) ++passes;
  }
  out.micro_batches = std::max<std::int64_t>(1, passes);
  out.step_us = end_us;
}

/// The largest blocks that live behind event `last`.
void add_largest(const LedgerRecord& record, std::size_t last, MemoryTimeline& out) {
  std::vector<bool> lives(record.blocks.size());
  for (std::size_t i = 0; i < lives.size(); ++i) lives[i] = record.blocks[i].entry == 0;
  for (std::size_t i = 0; i < last; ++i) lives[record.events[i].block] = record.events[i].takes;
  std::vector<const LedgerRecord::Block*> largest;
  for (std::size_t i = 0; i < lives.size(); ++i)
    if (lives[i]) largest.push_back(&record.blocks[i]);
  std::ranges::stable_sort(largest, std::ranges::greater(), &LedgerRecord::Block::bytes);
  largest.resize(std::min(largest.size(), kMostPeakTensors));
  for (const LedgerRecord::Block* const block : largest)
    out.largest.push_back({block->bytes, category_of(*block), std::string(block->module), block->stage});
}

void change(std::uint64_t& value, std::uint64_t bytes, bool more) {
  value = more ? value + bytes : value - std::min(value, bytes);
}

/// Puts the moments in; gives how many events it takes to the peak.
std::size_t add_moments(const LedgerRecord& record, MemoryTimeline& out) {
  const std::vector<std::uint32_t> owners = owners_of(record, out.owners);
  MemoryMoment now{.at_us = 0, .bytes = record.before};
  now.activations.resize(out.owners.size());
  out.moments.push_back(now);
  std::uint64_t most = now.total();
  std::size_t peak = 0;
  for (std::size_t i = 0; i < record.events.size(); ++i) {
    const LedgerRecord::Event& event = record.events[i];
    const LedgerRecord::Block& block = record.blocks[event.block];
    now.at_us = std::max(now.at_us, event.at_us - record.begin_us);
    change(now.bytes[static_cast<std::size_t>(category_of(block))], block.bytes, event.takes);
    if (owners[event.block] != kNoPlace)
      change(now.activations[owners[event.block]], block.bytes, event.takes);
    if (event.takes) ++out.allocations;
    out.moments.push_back(now);
    if (out.moments.size() > kMostWhileMade) thin_moments(out, kMostWhileMade / 2);
    if (now.total() <= most) continue;
    most = now.total();
    peak = i + 1;
    out.peak_stage = block.stage;
    out.peak_module = std::string(block.module);
  }
  return peak;
}

/// Blocks of one device by their places.
class DeviceBlocks final : public AllocationWatch {
 public:
  explicit DeviceBlocks(int device) : device_(device) {}

  void took(int device, const void* block, std::size_t bytes) noexcept override {
    if (device != device_ || !(has_memory_scope() || device_ledger().records())) return;
    const BlockTag tag = device_ledger().take(bytes);
    const std::scoped_lock lock(mutex_);
    blocks_[block] = tag;
  }
  void gave_back(int device, const void* block, std::size_t bytes) noexcept override {
    if (device != device_) return;
    BlockTag tag{.bytes = bytes};  // taken before the record, without a scope
    {
      const std::scoped_lock lock(mutex_);
      const auto found = blocks_.find(block);
      if (found == blocks_.end() && !device_ledger().records()) return;
      if (found != blocks_.end()) {
        tag = found->second;
        blocks_.erase(found);
      }
    }
    device_ledger().give_back(tag);
  }

 private:
  int device_;
  std::mutex mutex_;
  std::unordered_map<const void*, BlockTag> blocks_;
};

c10::CachingDeviceAllocator::DeviceStats stats_of(c10::Device device) {
  return c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
}

constexpr auto kWhole = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

void watch_device_blocks(const CudaPlugin& plugin, int device) {
  plugin.watch_allocations(*new DeviceBlocks(device));  // nothing takes it back: it stays
}

MemoryTimeline as_timeline(const LedgerRecord& record, const std::vector<StageInterval>& stages) {
  MemoryTimeline out;
  add_stages(record, stages, out);
  add_largest(record, add_moments(record, out), out);
  thin_moments(out);
  return out;
}

MemoryRecorder::MemoryRecorder(c10::Device device) : device_(device) {
  if (device.is_cuda()) watch_device_blocks(cuda_plugin(), device.index());
}

MemoryLedger& MemoryRecorder::ledger() const { return device_.is_cuda() ? device_ledger() : host_ledger(); }

void MemoryRecorder::begin() {
  records_ = true;
  std::int64_t others = 0;
  if (device_.is_cuda())
    others = stats_of(device_).requested_bytes[kWhole].current - static_cast<std::int64_t>(ledger().total());
  ledger().begin_record(static_cast<std::uint64_t>(std::max<std::int64_t>(0, others)));
}

std::uint64_t MemoryRecorder::program_bytes() const {
  if (!device_.is_cuda()) {
    const std::uint64_t process = peak_own_bytes(), others = ledger().most() + host_tensor_bytes();
    return process - std::min(process, others);
  }
  const FreeAndTotal memory = memory_now(device_);
  const std::int64_t reserved = stats_of(device_).reserved_bytes[kWhole].current;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, memory.total_bytes - memory.free_bytes - reserved));
}

MemoryTimeline MemoryRecorder::end(const std::vector<StageInterval>& stages) {
  records_ = false;
  const LedgerRecord record = ledger().end_record();
  const std::uint64_t program = program_bytes();  // before the record is worked out, which takes memory too
  MemoryTimeline out = as_timeline(record, stages);
  out.program_bytes = program;
  out.device = device_.str();
  timeline_ = out;
  return out;
}

std::int64_t recorded_step(std::int64_t steps, std::int64_t watched) {
  for (const std::int64_t step : {2, 3, 1, 0})
    if (step < steps && step != watched) return step;
  return 0;
}

}  // namespace isobar
