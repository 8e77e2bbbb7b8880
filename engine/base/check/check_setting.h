#pragma once
// What a check is run with, and what it may take.
#include <cstdint>
#include <string>

namespace isobar {

struct CheckSetting {
  std::string source;  ///< end of the path of the learner's file, by which its lines are known
  std::string
      library;  ///< the part's library, which only the process of a check loads; "" = it is in this program
  std::string folder;  ///< where the working folder is made; "" = that for temporary files
  double hang_s = 10;  ///< from then on a check is ended if nothing of it moves, or it computed for longer
  double sleep_s =
      10;  ///< for a check that wakes up again and again to no purpose; ours sleep for two at most
  std::int64_t most_memory_bytes = 1'000'000'000;  ///< resident or swapped out, and its own
  std::int64_t most_written_bytes = 250'000'000;   ///< to files and the terminal
};

}  // namespace isobar
