// Memory of the device and page-locked memory of the host: who may still use what is given back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/host_device/device.h"

namespace isobar::host_device {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kNothingYet = 0xff;  // of floating point numbers NaN, of counts -1

}  // namespace

HostDevice::Blocks::const_iterator HostDevice::find(const void* memory) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  const auto behind = blocks_.upper_bound(at);
  if (behind == blocks_.begin()) return blocks_.end();
  const auto block = std::prev(behind);
  return at < block->first + block->second.bytes ? block : blocks_.end();
}

void* HostDevice::add(std::size_t bytes, Block block) {
  block.memory = std::make_unique<std::byte[]>(bytes + kAlignment);
  void* begin = block.memory.get();
  std::size_t room = bytes + kAlignment;
  std::align(kAlignment, std::max<std::size_t>(bytes, 1), begin, room);
  std::memset(begin, kNothingYet, bytes);
  block.bytes = bytes;
  block.number = ++blocks_made_;
  blocks_[static_cast<const std::byte*>(begin)] = std::move(block);
  return begin;
}

void* HostDevice::allocate(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  HostStream& stream = current(current_device());
  if (!stream.capture && recording_ && recording_->thread == std::this_thread::get_id())
    refused("allocation", fmt::format("{} bytes are asked for on {} while a graph is recorded on {}", bytes,
                                      stream.name(), recording_->origin->name()));
  Block block;
  block.stream = &stream;
  block.of_graph = stream.capture != nullptr;
  void* const out = add(bytes, std::move(block));
  if (stream.capture) stream.capture->memory.push_back(static_cast<const std::byte*>(out));
  return out;
}

/// Late work may still touch it: it stays where it is until the device is idle.
void HostDevice::drop(Blocks::const_iterator block) {
  log_.forget(block->first);
  dropped_.push_back(std::move(blocks_.at(block->first).memory));
  blocks_.erase(block);
}

void HostDevice::free(void* memory) {
  const std::scoped_lock lock(mutex_);
  const auto block = find(memory);
  if (block == blocks_.end() || block->second.of_graph) return;  // the graph's stays its own
  std::set<std::size_t> lines = block->second.used_on;
  lines.insert({0, block->second.stream->line});
  VectorClock behind = block->second.stream->clock;
  behind.join(host_);
  if (const std::optional<Access> user = log_.unfinished(block->first, lines, behind))
    violated("reuse", fmt::format("{} bytes are given back on {} while {} may not be done with them",
                                  block->second.bytes, block->second.stream->name(), user->what));
  drop(block);
}

void HostDevice::keep(const void* memory, HostStream& stream) {
  const std::scoped_lock lock(mutex_);
  const auto block = find(memory);
  if (block != blocks_.end()) blocks_.at(block->first).used_on.insert(stream.line);
}

void* HostDevice::allocate_pinned(std::size_t bytes, bool kept) {
  const std::scoped_lock lock(mutex_);
  if (recording_ && recording_->thread == std::this_thread::get_id())
    refused("allocation",
            fmt::format("{} bytes of page-locked memory are asked for while a graph is recorded", bytes));
  Block block;
  block.kept = kept;
  return add(bytes, std::move(block));
}

void HostDevice::free_pinned(void* memory) {
  const std::scoped_lock lock(mutex_);
  const auto block = find(memory);
  if (block != blocks_.end()) drop(block);
}

bool HostDevice::is_pinned(const void* memory) const {
  const std::scoped_lock lock(mutex_);
  const auto block = find(memory);
  return block != blocks_.end() && block->second.stream == nullptr;
}

bool HostDevice::is_kept(const void* memory) const {
  const std::scoped_lock lock(mutex_);
  const auto block = find(memory);
  return block != blocks_.end() && block->second.kept;
}

}  // namespace isobar::host_device
