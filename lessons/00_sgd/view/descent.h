#pragma once
// The fit of a line (lesson 00), step by step and rank by rank: as a run recorded it, or worked out here.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "config/config.h"
#include "samples/batch_order.h"
#include "samples/line.h"

namespace isobar::lesson_00 {

/// One rank's part of a step.
struct DescentStep {
  Line line;        ///< behind the update
  Line own;         ///< the gradient of this rank's samples
  Line taken;       ///< the one that the update took
  double loss = 0;  ///< mean over the samples of all ranks, before the update
};

struct RankDescent {
  Line start;
  std::vector<DescentStep> steps = {};

  /// Where step `step` (from 0) took its gradient; that of the step behind the last is where it stands now.
  const Line& before(std::size_t step) const { return step == 0 ? start : steps.at(step - 1).line; }
  /// The start, and the line behind each step.
  std::vector<Line> path() const;
};

struct Descent {
  Config config;  ///< as it was asked for
  LinePoints points;
  std::vector<RankDescent> ranks;

  std::size_t steps() const;  ///< that all ranks made
  std::int64_t batch() const { return config.train.global_batch; }
};

/// What a run of lesson 00 recorded so far. Error (exit code 2) for a run of another lesson, and for one that
/// recorded no start.
Descent read_descent(const std::filesystem::path& run, const std::filesystem::path& home);

/// Makes the steps of a run one by one, all its ranks in this process: the same bits as the program's, with
/// the mistake of run.fault in them.
class DescentWalk {
 public:
  /// `config` is one of lesson 00. Error (exit code 2) for a batch that the points do not fill.
  explicit DescentWalk(const Config& config);

  void step();
  const Descent& so_far() const { return descent_; }
  /// The samples of `rank` in step `step`.
  std::vector<std::int64_t> batch_of(std::size_t rank, std::size_t step) const {
    return orders_.at(rank)->samples(static_cast<std::int64_t>(step));
  }

 private:
  Descent descent_;
  std::vector<Config> pages_;  ///< what the page of each rank gets
  std::vector<std::unique_ptr<BatchOrder>> orders_;
};

Descent walk_descent(const Config& config, std::int64_t steps);

/// Mean angle in degrees by which a path turns from one step to the next; 0 with fewer than two steps. Steps
/// of length 0 have no direction and are passed over.
double mean_turn(const std::vector<Line>& path);

/// Steps until the loss over all points is at most `factor` times the least for the first time; -1 = it does
/// not come there.
std::int64_t steps_until(const LinePoints& points, const std::vector<Line>& path, double factor);

/// The mean loss of rank 0 over all points in the second half of its steps, as a part above the least.
double rest_above_least(const Descent& descent);

/// The largest distance, in slope or intercept, between two paths after equally many steps.
double path_distance(const std::vector<Line>& one, const std::vector<Line>& other);

}  // namespace isobar::lesson_00
