#pragma once
#include <cstdint>

namespace isobar {

/// What averaging the gradients of one step cost this rank.
struct SyncFigures {
  std::int64_t total_us =
      0;                   ///< in which at least one collective ran, beside backward or not; -1 = not known
  std::int64_t calls = 0;  ///< collectives
  std::int64_t wire_bytes = 0;  ///< that this rank sends (CommCounts)
  int waited_for = -1;          ///< the rank that this one waited for longest; -1 = not known
  std::int64_t waited_us = 0;   ///< behind its own backward pass, for ranks that came later to a collective
};

}  // namespace isobar
