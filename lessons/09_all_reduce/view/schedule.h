#pragma once
// One all-reduce as moves of chunks between ranks, step by step: by the rules, or as a run recorded it
// (schedule_run.h). What every rank holds after k steps is worked out from the start each time, so that a
// step can be undone.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "formula/link_fit.h"
#include "ring/collective_step.h"

namespace isobar::lesson_09 {

inline constexpr int kMostScheduleRanks = 16;
inline constexpr int kMostScheduleChunks = 256;
// Of a recorded one; a plan has 30 steps at most, in each of which a rank sends one message.
inline constexpr std::size_t kMostScheduleSteps = 256;
inline constexpr std::size_t kMostScheduleMoves = kMostScheduleSteps * kMostScheduleRanks;

/// A message: `chunks` chunks of one rank's buffer, from `first_chunk` on.
struct ScheduleMove {
  int from = 0, to = 0;
  int first_chunk = 0, chunks = 1;
  bool adds = false;  ///< else it takes the place of what is there
  double bytes = 0;
  double begin_us = 0, end_us = 0;  ///< since the first step began
  // Of a recorded one.
  bool arrives = true;                                      ///< false: nothing tells that it came
  double value = std::numeric_limits<double>::quiet_NaN();  ///< first number of the result, where it is said
};

struct ScheduleStep {
  CollectivePhase phase = CollectivePhase::reduce;
  int index = 0;  ///< within its phase, from 0
  std::vector<ScheduleMove> moves = {};
  double begin_us = 0, end_us = 0;
};

/// What a rank has in the place of a chunk.
struct ScheduleCell {
  double value = 0;         ///< its first number; NaN = not known
  double expected = 0;      ///< the sum of the start values of `ranks`; NaN = not known
  std::uint32_t ranks = 0;  ///< bit r: the values of rank r are in it
  bool changed = false;     ///< by the last step

  int count() const;
  bool is_wrong() const { return value != expected && value == value && expected == expected; }
};

struct ScheduleRank {
  std::vector<ScheduleCell> cells;
  std::int64_t sent = 0, received = 0;  ///< messages
  double sent_bytes = 0, received_bytes = 0;
};

/// What is where after some steps.
struct ScheduleMoment {
  std::vector<ScheduleRank> ranks;
  double clock_us = 0;

  /// Every cell has the values of all ranks, and no other sum than theirs.
  bool all_hold_the_sum() const;
};

struct Schedule {
  AllReduceKind kind = AllReduceKind::ring;
  int ranks = 2;
  int chunks = 2;
  double bytes = 0;                        ///< of the buffer
  Link link = {};                          ///< of a recorded one as run.toml has it; 0 and 0 = none
  std::vector<std::vector<double>> start;  ///< by rank and chunk: the first number; NaN = not known
  std::vector<ScheduleStep> steps = {};
  std::string of = {};  ///< the collective that a run recorded; "" = by the rules
  std::int64_t run_step = -1;

  bool is_recorded() const { return !of.empty(); }
  ScheduleMoment after(std::size_t count) const;
  /// Steps of this phase.
  int steps_of(CollectivePhase phase) const;
  double end_us() const { return steps.empty() ? 0 : steps.back().end_us; }
};

const char* name_of(CollectivePhase phase);

/// The number with which a rank's buffer begins in lesson 09: whole, so that sums can be read.
double schedule_value(int rank, std::int64_t element);

/// Rank 0 gathers and gives back (naive), or half of the ranks that still hold a part send it on in each step
/// (tree), each time all chunks in one message; or groups of chunks go round (ring, ring/ring_plan.h), where
/// ranks whose group is empty send nothing. A step takes as long as its largest message; in all that is what
/// all_reduce_us says (formula/link_fit.h), of a ring whose chunks go into N equal groups. Error (exit code
/// 2) for ranks, chunks, bytes or a link that cannot be.
Schedule plan_schedule(AllReduceKind kind, int ranks, int chunks, double bytes, const Link& link);

/// Messages and bytes of the rank that has the most to do; of the ring, of each.
struct ScheduleTotals {
  std::string who;            ///< "Each rank sent", "The busiest rank sent", "Rank 0 sent and received"
  std::string messages_text;  ///< "2(N-1)"
  std::string bytes_text;     ///< "2(N-1)S/N"
  double messages = 0, bytes = 0;
  double messages_so_far = 0, bytes_so_far = 0;
};
ScheduleTotals totals_of(const Schedule& schedule, const ScheduleMoment& moment);

}  // namespace isobar::lesson_09
