#include "support/host_device/memory_log.h"

#include <algorithm>

namespace isobar::host_device {

std::int64_t VectorClock::tick(std::size_t line) {
  if (done_.size() <= line) done_.resize(line + 1);
  return ++done_[line];
}

void VectorClock::join(const VectorClock& other) {
  if (done_.size() < other.done_.size()) done_.resize(other.done_.size());
  for (std::size_t line = 0; line < other.done_.size(); ++line)
    done_[line] = std::max(done_[line], other.done_[line]);
}

std::optional<Access> MemoryLog::note(const std::byte* block, const Access& access,
                                      const VectorClock& clock) {
  std::vector<Access>& all = blocks_[block];
  std::optional<Access> race;
  for (const Access& other : all) {
    const bool ordered = other.line == access.line || clock.of(other.line) >= other.piece;
    if (!ordered && (other.writes || access.writes) && other.range.meets(access.range)) race = other;
  }
  // Whoever comes behind this one comes behind what it makes superfluous as well.
  std::erase_if(all, [&](const Access& other) {
    const bool behind = other.line == access.line || clock.of(other.line) >= other.piece;
    return behind && access.range.holds(other.range) && (access.writes || !other.writes);
  });
  all.push_back(access);
  return race;
}

std::optional<Access> MemoryLog::unfinished(const std::byte* block, const std::set<std::size_t>& lines,
                                            const VectorClock& clock) const {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return {};
  for (const Access& access : found->second) {
    if (!lines.contains(access.line) && clock.of(access.line) < access.piece) return access;
  }
  return {};
}

}  // namespace isobar::host_device
