#pragma once
// Memory of a process and of all those that it started.
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace isobar {

/// Bytes that the process and its descendants hold; what several of them share counts once (proportional set
/// size).
std::int64_t tree_memory_bytes(pid_t pid);

/// What one process has of its own or shares with others, in bytes: without pages of files that are mapped,
/// as core/memory.h's peak_own_bytes counts. Zeros where there is no such process.
struct OwnMemory {
  double now = 0;
  double peak = 0;
};
OwnMemory own_memory(pid_t pid);
/// From now on a peak is one of what comes (clear_refs, proc_pid_clear_refs(5)); nothing where it is not
/// allowed.
void forget_peak(pid_t pid);

/// Looks again and again from its construction to `most`, some ten times a second.
class TreeMemoryWatch {
 public:
  explicit TreeMemoryWatch(pid_t pid);
  ~TreeMemoryWatch();
  TreeMemoryWatch(const TreeMemoryWatch&) = delete;
  TreeMemoryWatch& operator=(const TreeMemoryWatch&) = delete;

  /// The most that was seen so far.
  std::int64_t seen() const { return most_; }
  /// The same, and ends the watch.
  std::int64_t most();

 private:
  std::atomic<bool> ends_ = false;
  std::atomic<std::int64_t> most_ = 0;
  std::thread thread_;
};

}  // namespace isobar
