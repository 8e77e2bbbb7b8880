#pragma once
// One training on more and more ranks: how much faster it gets, what that costs, and where the rest
// goes. Made from the streams of the runs; what was not measured is a gap.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/spread.h"
#include "analyse/steady.h"

namespace isobar {

/// weak: each rank has the same batch, so the joint batch grows. strong: the joint batch stays and is
/// divided.
enum class ScalingLaw { weak, strong };

/// real reads and computes; synthetic has one batch that is always there; no_comm is synthetic without
/// averaging of gradients.
enum class ScalingLine : std::size_t { real, synthetic, no_comm };
inline constexpr std::array<ScalingLine, 3> kScalingLines = {ScalingLine::real, ScalingLine::synthetic,
                                                             ScalingLine::no_comm};

const char* law_name(ScalingLaw law);     ///< "weak", "strong"
const char* line_name(ScalingLine line);  ///< "real", "synthetic", "no-comm"

/// Figures of one run over its steady steps.
struct ScalingRun {
  std::int64_t ranks = 1;
  double batch = 0;                  ///< samples a step, of all ranks; 0 = no step is steady
  double step_us = 0;                ///< mean step of the slowest rank; 0 = no step is steady
  double samples_per_s = 0;          ///< sum over all ranks
  std::optional<double> exposed_us;  ///< communication a step that nothing hid, mean over ranks
  double samples = 0;                ///< trained on by all ranks, warm-up included
  double wall_s = 0;                 ///< wall time of the whole run, validation included
  std::string where;                 ///< device and provenance: figures of two places are in no ratio
  std::vector<RunScores> scores = {};
};

ScalingRun scaling_run(const SteadyFigures& figures);

/// One line at one number of ranks, as it was asked for; without runs it is a gap.
struct ScalingPoint {
  ScalingLine line = ScalingLine::real;
  std::int64_t ranks = 1;
  std::vector<ScalingRun> runs = {};
  std::string missing = "";  ///< why runs are missing, in a few words; "" = none is
};

/// The first score at or below the loss that is wanted, over the repeats.
struct ToTarget {
  std::size_t reached = 0;  ///< repeats that came there
  std::size_t of = 0;       ///< repeats that were trained
  /// Median, from the beginning of the run, validation included; nothing where the middle one of the repeats
  /// never came there.
  std::optional<double> time_s;
  std::optional<double> samples;     ///< median, of all ranks
  std::optional<double> rank_hours;  ///< ranks times that time
};

/// One value and how far the repeats allow it to lie elsewhere.
struct Efficiency {
  double value = 0;
  double least = 0;
  double most = 0;
};

struct ScalingFigures {
  ScalingLine line = ScalingLine::real;
  std::int64_t ranks = 1;
  std::size_t repeats = 0;
  Spread samples_per_s;  ///< empty = a gap
  Spread step_us;        ///< the slowest rank's
  double batch = 0;      ///< samples a step, of all ranks; 0 = not known
  std::optional<Efficiency> efficiency;
  std::optional<double> exposed_us;              ///< median
  std::optional<double> exposed_share;           ///< share of the step
  std::optional<double> rank_hours_per_million;  ///< for a million samples at this rate
  std::optional<double> run_rank_hours;          ///< median over whole runs, validation included
  std::optional<ToTarget> to_target;             ///< set for whole runs, where a loss is wanted
  // Against the base of the line, where whole runs are to reach a loss and both have the figure.
  std::optional<double> speedup_samples = {};  ///< ratio of samples/s
  std::optional<double> speedup_target = {};   ///< ratio of times until the loss was reached
  std::string missing;

  bool is_gap() const { return samples_per_s.empty(); }
};

struct Scaling {
  ScalingLaw law = ScalingLaw::weak;
  std::int64_t base_ranks = 1;         ///< what efficiency is against: the fewest ranks that were asked for
  double target_loss = 0;              ///< 0 = none
  std::vector<ScalingFigures> points;  ///< in the order in which they were given
  std::vector<std::string> notes;      ///< sentences that belong beside the figures

  /// Null when it was not asked for.
  const ScalingFigures* find(ScalingLine line, std::int64_t ranks) const;
  std::vector<std::int64_t> ranks() const;  ///< rank counts asked for, ascending
  std::vector<ScalingLine> lines() const;   ///< lines asked for, in their own order
  /// samples/s of N times the base: of the first line whose base was measured; empty when none was.
  std::optional<double> ideal_rate(std::int64_t ranks) const;
};

/// Figures of each point, in the same order. T is the median over the repeats of a run's mean step on its
/// slowest rank, b the fewest ranks that were asked for:
///   weak    E = T_b / T_N          (equal work for each rank)
///   strong  E = b T_b / (N T_N)    (equal work for all ranks together)
/// so that a line is compared with itself only. There is no efficiency, and a note gives the reason, where
/// the base is a gap, where the batch is not that of the law, or where the two were not measured at one
/// place. `target_loss` above 0: when the validation loss first was at or below it, of runs that were scored.
Scaling judge_scaling(ScalingLaw law, const std::vector<ScalingPoint>& points, double target_loss = 0);

/// A part of a step: the difference between two points.
struct StepPart {
  double time_us = 0;
  bool is_noise = false;  ///< it is below zero, or the two are the same inside the spread of the repeats
};

/// Where the time of a real step goes; the four add up to it.
struct ScalingParts {
  double ideal_us = 0;  ///< no-comm on the base, divided by N / b where scaling is strong
  StepPart beside;      ///< no-comm beyond that: processors and memory that ranks share, smaller batches
  StepPart comm;        ///< synthetic beyond no-comm
  StepPart data;        ///< real beyond synthetic
};

/// Nothing where one of the four points is a gap.
std::optional<ScalingParts> step_parts(const Scaling& scaling, std::int64_t ranks);

}  // namespace isobar
