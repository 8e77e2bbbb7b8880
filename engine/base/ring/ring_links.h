#pragma once
// Messages between neighbours of a ring, in shared memory: each rank has a few slots that it fills and its
// right neighbour empties, two counters, and a way to sleep until the other has moved on. Torch-free.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace isobar {

enum class RingWait {
  there,
  late,   ///< the deadline passed
  broken  ///< a rank is lost or gave up: `what_broke` has the reason
};

/// Where a ring is a part of a larger group.
struct RingPart {
  std::vector<int> ranks = {};  ///< what errors call its ranks; empty: 0, 1, ...
  int of = 0;                   ///< ranks of the whole on this machine; 0: no more than the ring's
};

class RingLinks {
 public:
  static constexpr std::size_t kSlotBytes = 64 << 10;
  static constexpr std::uint32_t kSlots = 8;
  static std::uint64_t bytes(int size);

  /// In `bytes(size)` zeros at the begin of a page, which outlive this.
  RingLinks(std::byte* place, int rank, int size, RingPart part = {});
  /// Marks this rank as gone, which ends the waits of ranks that expect a message of it.
  ~RingLinks();
  RingLinks(const RingLinks&) = delete;
  RingLinks& operator=(const RingLinks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // One thread at a time, the same for all four. A slot is filled between wait_for_slot and send, and read
  // between wait_for_message and take. `wait_us` grows by what was waited.
  RingWait wait_for_slot(std::int64_t due_us, std::int64_t& wait_us);
  RingWait wait_for_message(std::int64_t due_us, std::int64_t& wait_us);
  enum class Awaited { slot, message };
  /// Sleeps once, at most so long by the machine's clock, for a caller that waits on two rings at once: after
  /// `late` it is time to look at both again.
  RingWait nap(Awaited awaited, std::int64_t most_us);
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
  /// "rank 2 (process 71) has ended"; nothing while all is well. Any thread.
  std::optional<std::string> what_broke() const;

 private:
  friend class PairLinks;
  /// Ends it for the reason for which `part`, some of its ranks, has ended; nothing while that is well.
  void break_like(const RingLinks& part);
  struct Header;
  struct Word;
  struct Link;
  enum class Why : std::uint32_t { fine, aborted, ended, left };

  Header& header() const;
  Link& link(int rank) const;
  RingWait wait_until(Word& word, std::uint32_t target, int other, std::int64_t due_us,
                      std::int64_t& wait_us);
  RingWait sleep_until(Word& word, std::uint32_t target, int other, std::int64_t due_us);
  RingWait sleep_once(Word& word, std::uint32_t target, int other, std::int64_t most_us);
  void look_after(int other, const Word& word, std::uint32_t target);
  bool has_ended(int rank);
  void break_all(Why why, int rank) noexcept;
  static void advance(Word& word, std::uint32_t value) noexcept;

  std::byte* slots_of(int rank) const;
  int name_of(int rank) const;

  std::byte* place_;
  RingPart part_;
  int rank_;
  int size_;
  int left_;
  int right_;
  bool is_crowded_;  ///< fewer processors than ranks of the whole
  std::uint32_t sent_ = 0;
  std::uint32_t taken_ = 0;
  std::atomic<bool> leaving_ = false;
  std::vector<FileDescriptor> processes_;  ///< by rank; readable when the process has ended
  std::vector<std::int64_t> ended_us_;     ///< by rank: when that was seen, 0 = not
};

}  // namespace isobar
