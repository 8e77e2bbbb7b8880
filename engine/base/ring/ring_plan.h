#pragma once
// Who sends what when in a ring of N ranks: each talks to two neighbours only, receives from the left and
// sends to the right. Torch-free.
//
// All-reduce, a buffer cut into N chunks. Reducing, steps k = 0 .. N-2: rank r sends chunk (r - k) mod N,
// receives chunk (r - k - 1) mod N and adds its own; then it has the full sum of chunk (r + 1) mod N.
// Spreading, steps k = 0 .. N-2: it sends chunk (r + 1 - k) mod N, receives chunk (r - k) mod N and keeps it.
// 2 (N - 1) steps, 2 (N - 1) / N of the buffer's bytes sent by each rank.
//
// What one step receives is what the next one sends, so both are done in one pass over memory: action o
// receives in step o - 1 and sends in step o.
#include <cstdint>
#include <vector>

#include "ring/collective_step.h"
#include "vector/combine.h"

namespace isobar {

/// An all-to-all does not go round (ring/pair_exchange.h): it has no actions here.
enum class RingKind { all_reduce, broadcast, all_gather, reduce_scatter, all_to_all };

/// What is to be done with one piece of a chunk. The own values are those of `chunk`.
struct RingAction {
  int chunk = 0;
  int receives_step = -1;  ///< index of the step; -1 = takes its own values instead of a message
  int sends_step = -1;     ///< -1 = sends nothing
  bool adds = false;       ///< the own values to the message
  bool is_last_sum = false;
  bool keeps = false;  ///< the result in this rank's buffer
};

/// Actions of rank `rank` of `size` >= 2, in order. Chunks of a broadcast: one, 0. Of a reduce-scatter the
/// chunks go round one place earlier than above, so that rank r ends with chunk r.
std::vector<RingAction> ring_actions(RingKind kind, int rank, int size, int root);

/// The steps that these actions make, without bytes and times.
std::vector<CollectiveStep> ring_steps(const std::vector<RingAction>& actions, int size);

/// `elements` values cut into `chunks` chunks that differ by at most one, and each into pieces.
struct RingCut {
  std::int64_t elements = 0;
  int chunks = 1;
  std::int64_t piece = 1;   ///< values of a piece, of the last one of a chunk at most
  std::int64_t pieces = 0;  ///< pieces of each chunk; some may be empty

  struct Range {
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };
  Range chunk(int index) const;
  Range piece_of(int chunk, std::int64_t piece_index) const;
};

/// Pieces of at most `most_bytes`, smaller ones where that lets neighbours work at the same time.
RingCut cut_ring(std::int64_t elements, int chunks, std::size_t element_bytes, std::size_t most_bytes);

}  // namespace isobar
