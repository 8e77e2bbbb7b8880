#pragma once
// What is given and what is promised in the exercise of lesson 00. You write my/00_ranks.cpp.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "samples/line.h"  // Line, also for a gradient; LinePoints; line_gradient

namespace isobar::exercise {

/// Given: the ranks that train together, as one of them sees them. All ranks make the same calls in the same
/// order: each call waits for all ranks.
class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual int rank() const = 0;  ///< from 0
  virtual int size() const = 0;
  /// Each value becomes the sum over all ranks of the values in its place; the same bits on every rank.
  virtual void sum(std::span<double> values) = 0;
  /// The values become those of rank `root`.
  virtual void broadcast(std::span<double> values, int root) = 0;
};

/// Given: the log of one rank.
class RankLog {
 public:
  virtual ~RankLog() = default;
  /// `step` counts from 0, and `line` is the one behind its update.
  virtual void write(std::int64_t step, const Line& line) = 0;
};

/// Given: what one rank of a job is started with.
struct RankTask {
  int rank = 0;  ///< the launcher's number, from 0
  int size = 1;
  /// Meets the other ranks of a job of `size`, as rank number `rank`; waits until all are there.
  std::function<std::unique_ptr<RankGroup>(int rank, int size)> join;
  /// Begins a log. Two ranks that write to one log overwrite each other.
  std::function<std::unique_ptr<RankLog>(const std::string& name)> open_log;
  LinePoints points;  ///< on every rank the same
  /// The part of a step's batch that belongs to rank `rank` of `size`: all parts are of one size.
  std::function<std::vector<std::int64_t>(std::int64_t step, int rank, int size)> batch;
  Line start;  ///< on every rank another one
  double lr = 0;
  std::int64_t steps = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// One step of gradient descent: `line` moves against `gradient`, `lr` times as far.
void take_step(Line& line, const Line& gradient, double lr);

/// `line` becomes that of rank 0. One broadcast of its two numbers.
void share_start(exercise::RankGroup& group, Line& line);

/// `gradient` becomes the mean over all ranks. One sum of its two numbers.
void average(exercise::RankGroup& group, Line& gradient);

/// What each rank does: it joins the others, begins where rank 0 begins, and takes `steps` steps with the
/// mean of all ranks' gradients. It logs each step once, under the name "rank-0", "rank-1" and so on.
/// Returns its path, the start first.
std::vector<Line> train_rank(const exercise::RankTask& task);

}  // namespace isobar::mine
