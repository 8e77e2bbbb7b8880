#pragma once
// What each rank of one machine called last, in memory that all of them see: so that ranks which call
// different things end in an error, instead of adding up what does not belong together. Torch-free.
#include <cstdint>
#include <optional>
#include <string>

#include "ring/ring_plan.h"
#include "ring/shared_memory.h"

namespace isobar {

struct RingCall {
  RingKind kind = RingKind::all_reduce;
  int reduced = 0;  ///< which of the sums
  int root = 0;
  std::int64_t elements = 0;

  bool operator==(const RingCall&) const = default;
};

class CallBoard {
 public:
  static std::uint64_t bytes(int size);
  CallBoard(SharedMemory memory, int rank, int size);

  /// This rank makes its call `number`; numbers are 0, 1, 2, ... on every rank.
  void post(std::int64_t number, const RingCall& call) noexcept;
  /// A rank whose call `number` is another than `own`, and what it called; ranks that have not come to it, or
  /// are far ahead, say nothing.
  struct Other {
    int rank;
    RingCall call;
  };
  std::optional<Other> other_than(std::int64_t number, const RingCall& own) const noexcept;

  /// The first other rank whose process is stopped (SIGSTOP), so that it cannot come.
  struct Stopped {
    int rank;
    std::int64_t process;
  };
  std::optional<Stopped> stopped_rank() const;

 private:
  struct Row;
  Row& row(int rank) const;

  SharedMemory memory_;
  int rank_;
  int size_;
};

}  // namespace isobar
