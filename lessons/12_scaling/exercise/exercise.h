#pragma once
// What is given and what is promised in the exercise of lesson 12. You write my/12_simulated_step.cpp.
#include <vector>

namespace isobar::exercise {

/// Given: what a series of a scaling study keeps equal, the work of each rank or the work of all together.
enum class ScalingKind { weak, strong };

/// Given: one point of a series.
struct SeriesPoint {
  int ranks = 1;
  double step_us = 0;
};

/// Given: one run of a study, the same as its other repeats.
struct Repeat {
  std::vector<double> epochs_s;  ///< how long each epoch took; the first one is the warm-up
};

/// Given: the bus bandwidth of an all-reduce over so many nodes, as measured.
struct MeasuredBandwidth {
  int nodes = 1;
  double gb_per_s = 0;  ///< gigabytes, 1e9 bytes
};

/// Given: a machine on which each GPU has one rank. Ranks fill node after node.
struct Machine {
  int gpus_per_node = 1;
  double latency_us = 0;                    ///< a message to the next rank of the ring
  std::vector<MeasuredBandwidth> measured;  ///< at least one, by rising number of nodes
};

/// Given: one rank in one step. Times begin with the step.
struct RankTimes {
  std::vector<double> ready_us;  ///< when it has all gradients of each bucket
  double backward_us = 0;        ///< when its backward pass ends
  double optimize_us = 0;        ///< how long its optimiser takes
};

/// Given: one step of data-parallel ranks, which have the same buckets but not the same speed.
struct UnevenStep {
  std::vector<double> bucket_bytes;  ///< in the order in which they travel
  std::vector<RankTimes> ranks;      ///< at least one
};

/// Given: squared norms of gradients in one step; the gradients are those of mean losses.
struct SquaredNorms {
  double local = 0;  ///< mean over the ranks of |g_b|^2, each of a rank's own batch
  double mean = 0;   ///< |g_B|^2, of the mean over the ranks
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// Efficiency of `point` beside `first`, which may have any number of ranks; 1 = scales without loss.
double efficiency(exercise::ScalingKind scaling, const exercise::SeriesPoint& first,
                  const exercise::SeriesPoint& point);

/// Time of an epoch by the protocol of the study: the mean of a run without its warm-up epoch, and the median
/// over the runs. Of an even number of runs it is the mean of the two in the middle. A run that ended in its
/// warm-up does not count. NaN without a run that counts: a missing point is a gap.
double study_s(const std::vector<exercise::Repeat>& repeats);

/// GB/s. Between two measured points a straight line in the logarithms of nodes and bandwidth; below the
/// first and above the last point that of the nearest, since nobody measured how the line continues.
double bus_bandwidth(const exercise::Machine& machine, int nodes);

/// A ring all-reduce over `ranks` ranks: latency and bytes by the formula of lesson 09, B the bus bandwidth
/// of the nodes that hold these ranks. One rank alone takes no time.
double all_reduce_us(const exercise::Machine& machine, int ranks, double bytes);

/// When each bucket is through, since the step began. A collective begins when all ranks are there, and the
/// network carries one after the other.
std::vector<double> finishes_us(const exercise::UnevenStep& step, const exercise::Machine& machine);

/// The time of the step: each rank optimises once its backward pass has ended and all buckets are through,
/// and the last rank to finish ends the step. There may be no buckets.
double step_us(const exercise::UnevenStep& step, const exercise::Machine& machine);

/// Gradient noise scale in samples, from many steps of `ranks` >= 2 ranks with `local_batch` samples each:
/// G2 = (B |g_B|^2 - b |g_b|^2) / (B - b) and s = (|g_b|^2 - |g_B|^2) / (1/b - 1/B) of each step, mean of s
/// over mean of G2. NaN where the mean of G2 is not above 0: too few steps to see a gradient in the noise.
double noise_scale(const std::vector<exercise::SquaredNorms>& steps, int local_batch, int ranks);

}  // namespace isobar::mine
