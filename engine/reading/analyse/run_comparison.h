#pragma once
// Two runs with their repeats: which is faster, by how much, why, and how sure that is.
#include <optional>
#include <string>
#include <vector>

#include "analyse/parity.h"
#include "analyse/run_case.h"
#include "analyse/spread.h"

namespace isobar {

/// Mean time of one stage, over the steady steps of all repeats; "rest" is what no stage takes. Of several
/// ranks that of the one that waits least in collectives: the others wait for it.
struct StageDifference {
  std::string stage;
  double base_us = 0;
  double other_us = 0;
  double more_us() const { return other_us - base_us; }
};

/// What most of a difference comes from.
struct Cause {
  enum class Kind {
    none,            ///< there is no difference to explain, or no part of it stands out
    other_programs,  ///< they took part of the processors beside the slower run
    straggler,       ///< one rank of the slower run keeps the others waiting
    stage            ///< one stage takes at least half of the difference
  };
  Kind kind = Kind::none;
  std::string stage;     ///< the straggler's stage that takes longer there, "" = none stands out
  int rank = -1;         ///< the straggler
  double more_us = 0;    ///< what the other run takes more of it; below 0 where it takes less
  bool is_sure = false;  ///< the repeats distinguish this part too
};

struct RunComparison {
  std::string no_ratio;  ///< why there can be none: "one is recorded, the other predicted: ..."; "" = nothing
  bool repeats = false;  ///< they have the same settings: then only the two runs themselves are looked at
  std::optional<Compared> speed;  ///< samples/s, other over base; nothing where one has no steady step
  std::size_t base_repeats = 0;
  std::size_t other_repeats = 0;
  double recorded_apart = 0;     ///< largest ratio of repeats on such machines
  bool can_be_repeated = false;  ///< by commands of this tree, which makes the repeats that are missing
  bool of_ranks = false;         ///< its times are those of the rank that waits least
  std::string per;               ///< what the times are of: "step", or "sample" where steps differ in size
  std::vector<StageDifference>
      stages;            ///< in the order of a step, those that one of them has; the last is "rest"
  StageDifference step;  ///< their sums
  Cause cause;
  LossesCompared losses;

  /// Largest part of the difference with its sign; null where there is none.
  const StageDifference* largest() const;
};

RunComparison compare_runs(const RunCase& base, const RunCase& other);
/// Each of the others with the first; nothing of a single one.
std::vector<RunComparison> compare_with_first(const std::vector<RunCase>& cases);

/// In a cell below "vs A": "x1.36 ±0.03", "about x9.4", "cannot tell", "repeats A", "-" where they make no
/// ratio.
std::string versus_text(const RunComparison& comparison);

/// "B is 1.36 times as fast as A (1.33 to 1.39, 3 and 3 runs); main cause: load, 6.8 of 7.1 ms a step less;
/// losses are equal to the last bit."
std::string comparison_sentence(const RunComparison& comparison, const std::string& base,
                                const std::string& other);

/// How many more runs of each would decide; 0 = none are needed, or none would help.
std::size_t runs_missing(const RunComparison& comparison, std::size_t repeats);

/// The command that makes them; "" where there are none to make, or where this tree cannot: one was recorded,
/// imported, replayed, or is of a lesson that is not here.
std::string repeats_command(const RunCase& base, const RunCase& other, const RunComparison& comparison);

}  // namespace isobar
