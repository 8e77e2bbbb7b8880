#pragma once
// What a run of lesson 09 recorded of its all-reduces: how long each took, and whether its sums are right.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "formula/link_fit.h"
#include "log/run_files.h"

namespace isobar::lesson_09 {

/// One of them, over all ranks.
struct AllReduceStep {
  double bytes = 0;        ///< of the buffer
  double time_us = 0;      ///< of the slowest rank
  double messages = 0;     ///< of the rank that sent most
  double sent_bytes = 0;   ///< likewise
  std::int64_t wrong = 0;  ///< values that are not the sum, of the rank that has most of them
  bool agrees = true;      ///< all ranks hold the same bits afterwards
};

struct AllReduceRun {
  AllReduceKind kind = AllReduceKind::ring;
  int ranks = 1;
  Link link = {};                         ///< that run.toml asks for
  std::vector<AllReduceStep> steps = {};  ///< that all ranks made

  std::vector<TimedSize> times() const;
  /// The median time of each size, the smallest first.
  std::vector<TimedSize> medians() const;
};

/// comm.link; 0 and 0 = none.
Link link_in(const ConfigText& config);

/// From the streams of all ranks. Error (exit code 2) for a run of another lesson, and for one whose ranks
/// made no step together.
AllReduceRun read_all_reduces(const std::filesystem::path& run);

/// Size from which `ring` is quicker than `tree`, as their times say: where the lines through them cross.
/// Nothing where one of the two is quicker at every size of both, or no line can be drawn.
std::optional<double> measured_crossing_bytes(const AllReduceRun& ring, const AllReduceRun& tree);

}  // namespace isobar::lesson_09
