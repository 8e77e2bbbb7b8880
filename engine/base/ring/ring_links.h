#pragma once
// Messages between neighbours of a ring, in shared memory: each rank has a few slots that it fills and its
// right neighbour empties, two counters, and a way to sleep until the other has moved on. Torch-free.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "ring/shared_memory.h"

namespace isobar {

enum class RingWait {
  there,
  late,   ///< the deadline passed
  broken  ///< a rank is lost, or somebody gave up: `what_broke` says it
};

class RingLinks {
 public:
  static constexpr std::size_t kSlotBytes = 64 << 10;
  static constexpr std::uint32_t kSlots = 8;
  static std::uint64_t bytes(int size);

  RingLinks(SharedMemory memory, int rank, int size);
  /// Says that this rank is gone: who still waits for a message of it is told so.
  ~RingLinks();
  RingLinks(const RingLinks&) = delete;
  RingLinks& operator=(const RingLinks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // One thread at a time, the same for all four. A slot is filled between wait_for_slot and send, and read
  // between wait_for_message and take. `wait_us` grows by what was waited.
  RingWait wait_for_slot(std::int64_t due_us, std::int64_t& wait_us);
  RingWait wait_for_message(std::int64_t due_us, std::int64_t& wait_us);
  bool has_slot() const;
  bool has_message() const;
  std::byte* slot() const;           ///< to fill
  const std::byte* message() const;  ///< to read
  void send();
  void take();

  /// Ends it for all ranks, and wakes them. Any thread.
  void abort() noexcept;
  /// Threads of this process that wait come back with `late`, from now on. Any thread.
  void leave() noexcept;
  bool is_broken() const;
  /// "rank 2 (process 71) has ended"; nothing while all is well. Any thread.
  std::optional<std::string> what_broke() const;

 private:
  struct Header;
  struct Word;
  struct Link;
  enum class Why : std::uint32_t { fine, aborted, ended, left };

  Header& header() const;
  Link& link(int rank) const;
  RingWait wait_until(Word& word, std::uint32_t target, int other, std::int64_t due_us,
                      std::int64_t& wait_us);
  RingWait sleep_until(Word& word, std::uint32_t target, int other, std::int64_t due_us);
  void look_after(int other);
  bool has_ended(int rank);
  void break_all(Why why, int rank) noexcept;
  static void advance(Word& word, std::uint32_t value) noexcept;

  SharedMemory memory_;
  int rank_;
  int size_;
  int left_;
  int right_;
  bool is_crowded_;  ///< fewer processors than ranks
  std::uint32_t sent_ = 0;
  std::uint32_t taken_ = 0;
  std::atomic<bool> leaving_ = false;
  std::vector<FileDescriptor> processes_;  ///< by rank; readable when the process has ended
  std::vector<std::int64_t> ended_us_;     ///< by rank: when that was seen, 0 = not
};

}  // namespace isobar
