#pragma once
// Memory that this process may use: the machine's, or less where a control group limits it.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace isobar {

struct MemoryState {
  std::uint64_t total_bytes = 0;      ///< the machine's, or the limit of the control group
  std::uint64_t available_bytes = 0;  ///< what a new allocation could still get without swapping
  std::uint64_t oom_kills = 0;        ///< processes of the control group that were killed for memory so far
  bool is_limited = false;            ///< whether total_bytes is the limit of a control group

  /// "this machine has 25.3 GB", "its control group allows 250 MB".
  std::string total_text() const;
};

/// Reads files below `root`; control groups of version 1 and 2 (core/control_groups.h),
/// the least limit counts. Zeros where it is not known.
MemoryState memory_state(const std::filesystem::path& root = "/");

/// Most bytes that this process held at once so far, of its own or shared between ranks. Pages of files that
/// are mapped, of libraries above all, are not among them: processes share those, the system drops them when
/// it must, and how many count as held depends on what its page cache joins. Those of now are taken off the
/// peak (VmHWM, proc_pid_status(5)): a peak from before most libraries were there may be too small, one
/// beside a file that is unmapped since too large.
std::uint64_t peak_own_bytes();

/// Memory that was found to be free and is taken later, slot by slot or with the first step: who looks for
/// memory meanwhile must not count on it. Any thread may call its functions; what was not taken is given up
/// with the last of it.
class MemoryPromise {
 public:
  MemoryPromise() = default;
  ~MemoryPromise();
  MemoryPromise(const MemoryPromise&) = delete;
  MemoryPromise& operator=(const MemoryPromise&) = delete;

  void add(std::uint64_t bytes);
  /// So much of it, at most all, is there now, and no longer counted among what is available.
  void take(std::uint64_t bytes);

 private:
  std::atomic<std::uint64_t> left_ = 0;
};

/// What all promises of this process still want.
std::uint64_t promised_bytes();
/// What is available beside it.
std::uint64_t unpromised_bytes(const MemoryState& memory);

}  // namespace isobar
