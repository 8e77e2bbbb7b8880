#pragma once
// Who touched which memory, and what had happened before: races between streams, found by vector clocks
// whatever order the work ran in.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace isobar::host_device {

/// How much of each line of work has been done. Line 0 is the host, the others are streams.
class VectorClock {
 public:
  std::int64_t of(std::size_t line) const { return line < done_.size() ? done_[line] : 0; }
  /// One more piece of this line: its number, from 1.
  std::int64_t tick(std::size_t line);
  /// What the other has behind it lies behind this one too.
  void join(const VectorClock& other);

 private:
  std::vector<std::int64_t> done_;
};

struct Range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;

  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
  bool holds(const Range& other) const { return begin <= other.begin && other.end <= end; }
};

struct Access {
  Range range;
  bool writes = false;
  std::size_t line = 0;
  std::int64_t piece = 0;  ///< of that line
  std::string what;        ///< "aten::add_ on stream 1"
};

/// Accesses to blocks of memory, which their first byte names.
class MemoryLog {
 public:
  /// Keeps `access`, which has `clock` behind it. The earlier one that is not, where one of the two writes.
  std::optional<Access> note(const std::byte* block, const Access& access, const VectorClock& clock);
  /// An access by another line than those, which `clock` does not have behind it.
  std::optional<Access> unfinished(const std::byte* block, const std::set<std::size_t>& lines,
                                   const VectorClock& clock) const;
  void forget(const std::byte* block) { blocks_.erase(block); }

 private:
  std::map<const std::byte*, std::vector<Access>> blocks_;
};

}  // namespace isobar::host_device
