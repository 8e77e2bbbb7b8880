// Lesson 09: the ring all-reduce, chunk by chunk.
// exercise.h says what is given and what is promised; ./isobar check 09_all_reduce looks at what you wrote.
#include <algorithm>
#include <vector>

#include "09_all_reduce/exercise/exercise.h"

namespace isobar::mine {

using exercise::Chunk;
using exercise::Ring;

Chunk chunk_of(std::int64_t count, int chunks, int index) {
  // BEGIN Where does this chunk begin, and where the next one?
  //> return {0, 0};
  const std::int64_t begin = count * index / chunks, end = count * (index + 1) / chunks;
  return {begin, end - begin};
  // END
}

/// The numbers of chunk `index`. Behind the last chunk comes the first again, and before chunk 0 the last.
static std::span<float> numbers(std::span<float> values, int chunks, int index) {
  const int around = (index % chunks + chunks) % chunks;  // % alone stays negative in C++
  const Chunk chunk = chunk_of(static_cast<std::int64_t>(values.size()), chunks, around);
  return values.subspan(static_cast<std::size_t>(chunk.begin), static_cast<std::size_t>(chunk.count));
}

void reduce_scatter(Ring& ring, std::span<float> values) {
  const int n = ring.size(), p = ring.place();
  std::vector<float> came;  // resize it to the chunk that comes
  // BEGIN Each step: a chunk goes right, another comes from the left and is added. Which, and how often?
  for (int k = 0; k < n - 1; ++k) {
    const std::span<float> out = numbers(values, n, p - k), own = numbers(values, n, p - k - 1);
    came.resize(own.size());
    ring.exchange(ring.right(), out, ring.left(), came);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += came[i];
  }
  // END
}

int owned_chunk(int place, int ranks) {
  // BEGIN To which chunk does reduce_scatter add in its last step?
  //> return place;
  return (place + 1) % ranks;
  // END
}

void all_gather(Ring& ring, std::span<float> values) {
  const int n = ring.size(), p = ring.place();
  // BEGIN Each step: a complete chunk goes right, and one that comes takes its place. Which goes first?
  for (int k = 0; k < n - 1; ++k) {
    const std::span<float> out = numbers(values, n, p + 1 - k), own = numbers(values, n, p - k);
    ring.exchange(ring.right(), out, ring.left(), own);
  }
  // END
}

}  // namespace isobar::mine
