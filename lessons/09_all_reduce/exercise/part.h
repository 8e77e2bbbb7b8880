#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "09_all_reduce/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  Chunk (*chunk_of)(std::int64_t count, int chunks, int index);
  int (*owned_chunk)(int place, int ranks);
  void (*reduce_scatter)(Ring& ring, std::span<float> values);
  void (*all_gather)(Ring& ring, std::span<float> values);
};

}  // namespace isobar::exercise
