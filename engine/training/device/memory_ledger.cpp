#include "device/memory_ledger.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "core/clock.h"
#include "device/operator_watch.h"

namespace isobar {
namespace {

constexpr int kNoScope = -1;
constexpr std::uint64_t kLeastListed = 4096;
/// A number has this bit where the block was listed before a record; else its upper half is the record's and
/// its lower one the place in it, from 1.
constexpr std::uint64_t kListed = std::uint64_t{1} << 63;

thread_local int innermost_scope = kNoScope;
std::atomic<const char*> running_stage = "";
std::atomic<std::uint32_t> stage_entry = 1;

/// What a block is for that no scope names. A module of the model that runs in backward computes again. What
/// the head gives and the loss keeps is there where forward turns into backward, and no block waits for it.
MemoryCategory category_by(std::string_view stage, std::string_view module) {
  if (module == "loss" || module == "head") return MemoryCategory::workspace;
  if (stage == "forward" || (stage == "backward" && !owner_of_module(module).empty()))
    return MemoryCategory::activations;
  if (stage == "load" || stage == "copy") return MemoryCategory::batches;
  return stage == "comm" ? MemoryCategory::communication : MemoryCategory::workspace;
}

}  // namespace

std::string_view owner_of_module(std::string_view module) {
  constexpr std::string_view kBlocks = "blocks.";
  if (module.starts_with(kBlocks)) return module.substr(0, module.find('.', kBlocks.size()));
  for (const std::string_view embed : {"patch_embed", "pos_embed", "vit"})
    if (module.starts_with(embed)) return "embed";
  if (module.starts_with("norm") || module.starts_with("head")) return "head";
  return "";
}

std::uint64_t MemoryLedger::sum() const {
  return std::accumulate(held_.begin(), held_.end(), std::uint64_t{0});
}

BlockTag MemoryLedger::take(std::uint64_t bytes) {
  const bool has_scope = innermost_scope != kNoScope;
  const char* const stage = running_stage.load(std::memory_order_relaxed);
  const std::string_view module = current_module();
  BlockTag tag{bytes, has_scope ? static_cast<MemoryCategory>(innermost_scope) : category_by(stage, module)};
  const std::scoped_lock lock(mutex_);
  held_[static_cast<std::size_t>(tag.category)] += bytes;
  const std::uint64_t all = sum();
  most_ = std::max(most_, all);
  if (records_) {
    record_.peak_bytes = std::max(record_.peak_bytes, all);
    record_.events.push_back({steady_us(), static_cast<std::uint32_t>(record_.blocks.size()), true});
    auto known = record_.modules.find(module);  // a name may go with its scope
    if (known == record_.modules.end()) known = record_.modules.emplace(module).first;
    record_.blocks.push_back({bytes, tag.category, *known, stage, stage_entry.load(), 0, false});
    tag.number = records_so_far_ << 32 | record_.blocks.size();
  } else if (has_scope && bytes >= kLeastListed) {
    tag.number = kListed | ++next_;
    listed_[tag.number] = {.bytes = bytes, .category = tag.category};
  }
  return tag;
}

std::uint32_t MemoryLedger::place_in_record(const BlockTag& tag) {
  if (tag.number != 0 && (tag.number & kListed) == 0 && tag.number >> 32 == records_so_far_)
    return static_cast<std::uint32_t>(tag.number & 0xffffffffU) - 1;
  const auto found = listed_before_.find(tag.number);
  if (found != listed_before_.end()) return found->second;
  record_.blocks.push_back({.bytes = tag.bytes, .category = tag.category});
  return static_cast<std::uint32_t>(record_.blocks.size() - 1);
}

void MemoryLedger::give_back(const BlockTag& tag) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t& held = held_[static_cast<std::size_t>(tag.category)];
  held -= std::min(held, tag.bytes);
  if ((tag.number & kListed) != 0) listed_.erase(tag.number);
  if (!records_) return;
  const std::uint32_t place = place_in_record(tag);
  record_.blocks[place].freed_entry = stage_entry.load();
  record_.blocks[place].freed_in_module = !owner_of_module(current_module()).empty();
  record_.events.push_back({steady_us(), place, false});
}

std::array<std::uint64_t, kHeldCategories> MemoryLedger::held() const {
  const std::scoped_lock lock(mutex_);
  return held_;
}

std::uint64_t MemoryLedger::total() const {
  const std::scoped_lock lock(mutex_);
  return sum();
}

std::uint64_t MemoryLedger::most() const {
  const std::scoped_lock lock(mutex_);
  return most_;
}

void MemoryLedger::begin_record(std::uint64_t others) {
  const std::scoped_lock lock(mutex_);
  held_[static_cast<std::size_t>(MemoryCategory::workspace)] += others;
  records_ = true;
  ++records_so_far_;
  record_ = {};
  listed_before_.clear();
  for (const auto& [number, block] : listed_) {
    listed_before_[number] = static_cast<std::uint32_t>(record_.blocks.size());
    record_.blocks.push_back(block);
  }
  record_.before = held_;
  record_.peak_bytes = sum();
  record_.begin_us = steady_us();
}

LedgerRecord MemoryLedger::end_record() {
  const std::scoped_lock lock(mutex_);
  records_ = false;
  listed_before_.clear();
  return std::exchange(record_, {});
}

bool MemoryLedger::records() const {
  const std::scoped_lock lock(mutex_);
  return records_;
}

// Tensors may be given back when a program has begun to end.
MemoryLedger& host_ledger() {
  static auto& ledger = *new MemoryLedger;
  return ledger;
}

MemoryLedger& device_ledger() {
  static auto& ledger = *new MemoryLedger;
  return ledger;
}

bool has_memory_scope() { return innermost_scope != kNoScope; }

MemoryScope::MemoryScope(MemoryCategory category)
    : outer_(std::exchange(innermost_scope, static_cast<int>(category))) {}

MemoryScope::~MemoryScope() { innermost_scope = outer_; }

HeldMemory::HeldMemory(MemoryCategory category, std::uint64_t bytes) {
  const MemoryScope scope(category);
  tag_ = host_ledger().take(bytes);
}

HeldMemory::~HeldMemory() { host_ledger().give_back(tag_); }

void enter_memory_stage(const char* stage) {
  running_stage = stage;
  ++stage_entry;
}

}  // namespace isobar
