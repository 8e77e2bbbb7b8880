#pragma once
// What is given and what is promised in the exercise of lesson 09. You write my/09_ring.cpp.
#include <cstdint>
#include <span>

namespace isobar::exercise {

/// Given: the ring, as one of its ranks sees it. Messages go to ranks by their numbers; who is where in the
/// ring is another matter: two ranks whose numbers follow each other need not be neighbours.
class Ring {
 public:
  virtual ~Ring() = default;
  virtual int place() const = 0;  ///< of this rank in the ring, from 0
  virtual int size() const = 0;   ///< ranks in the ring
  virtual int left()
      const = 0;  ///< the rank one place before this one; before the first place comes the last
  virtual int right() const = 0;  ///< the rank one place after this one; after the last place comes the first

  /// Returns when rank `to` has taken the numbers. Small messages may return earlier: a link has room for a
  /// few.
  virtual void send(int to, std::span<const float> out) = 0;
  /// Waits for the next message of rank `from`, which has as many numbers as `into`.
  virtual void receive(int from, std::span<float> into) = 0;
  /// Both at the same time. `out` and `into` have no number in common.
  virtual void exchange(int to, std::span<const float> out, int from, std::span<float> into) = 0;
};

/// Numbers begin, begin + 1, ..., begin + count - 1 of a buffer.
struct Chunk {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// Chunk `index` of a buffer of `count` numbers that is cut into `chunks`: all of the buffer in order, in
/// chunks whose sizes differ by at most one. With fewer numbers than chunks some are empty.
exercise::Chunk chunk_of(std::int64_t count, int chunks, int index);

/// The chunk that is complete on the rank at `place` when reduce_scatter is done. On each rank it is another
/// one.
int owned_chunk(int place, int ranks);

/// All ranks call it, with buffers of one size that are cut into as many chunks as there are ranks. Of the
/// owned chunk, each number becomes the sum over all ranks of the numbers in its place. What the other chunks
/// hold afterwards is of no interest.
void reduce_scatter(exercise::Ring& ring, std::span<float> values);

/// Where all ranks have their owned chunk complete: then all have all chunks, the same bits on every rank.
void all_gather(exercise::Ring& ring, std::span<float> values);

// Both together are the all-reduce. Each rank sends to its neighbours only: 2 (N - 1) messages of one chunk,
// and 2 (N - 1) / N of the bytes of its buffer. A rank that is alone sends nothing.

}  // namespace isobar::mine
