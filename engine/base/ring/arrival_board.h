#pragma once
// ring/arrival_board.h: when each rank of one machine called each collective, in memory that all of them see.
// The steady clock is one for all processes of a machine. Torch-free. To make one, on every rank:
//   ArrivalBoard board(meet_in_memory(group, "arrivals", ArrivalBoard::bytes(size)), rank, size);
//                                                                             (comm/memory_meeting.h)
#include <cstdint>
#include <optional>

#include "ring/shared_memory.h"

namespace isobar {

struct RankArrival {
  std::int64_t time_us = 0;  ///< steady clock
  int rank = 0;              ///< the first of them where several came in the same microsecond
};

class ArrivalBoard {
 public:
  /// Collectives that are remembered. Whoever starts so many before it looks finds nothing.
  static constexpr std::int64_t kRemembered = 1024;
  static std::uint64_t bytes(int size);

  ArrivalBoard(SharedMemory memory, int rank, int size);

  /// This rank calls collective `number`; numbers are 0, 1, 2, ... on every rank. One thread at a time. Costs
  /// nanoseconds.
  void arrive(std::int64_t number, std::int64_t now_us) noexcept;
  /// Who came last to `number` and when, once all came; nothing before that, and for what was forgotten. Any
  /// thread.
  std::optional<RankArrival> latest(std::int64_t number) const noexcept;
  /// Whether `rank` called `number` or a later one. Any thread.
  bool has_come(int rank, std::int64_t number) const noexcept;

 private:
  struct Row;
  Row& row(int rank) const;

  SharedMemory memory_;
  int rank_;
  int size_;
};

}  // namespace isobar
