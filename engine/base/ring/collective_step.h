#pragma once
// One step of a collective that is made of several, as this rank saw it. Torch-free.
#include <cstdint>

namespace isobar {

/// Sums are made on the way round, then go round themselves.
enum class CollectivePhase { reduce, spread };

/// Times on the steady clock. Large buffers go round in several rounds: times run from the first to the last,
/// bytes are of all of them.
struct CollectiveStep {
  CollectivePhase phase = CollectivePhase::reduce;
  int step = 0;             ///< within its phase, from 0
  int sent_chunk = -1;      ///< -1 = it sends nothing: the end of a broadcast
  int received_chunk = -1;  ///< -1 = it receives nothing: the root of a broadcast
  std::int64_t bytes = 0;   ///< sent
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  std::int64_t waited_us = 0;  ///< for another rank
};

}  // namespace isobar
