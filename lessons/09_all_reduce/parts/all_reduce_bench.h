#pragma once
// What lesson 09 measures, and what its page needs beside the algorithms. Torch-free.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "09_all_reduce/parts/messages.h"
#include "core/seam.h"
#include "running/standalone_run.h"

namespace isobar {

/// A rank's place in the ring, and the ranks beside it.
struct RingPlace {
  int place = 0;
  int left = 0;
  int right = 0;
};

/// In the order of the ranks. With run.fault = rank_order the first and the second half of them, as of two
/// machines, take turns: 0, n/2, 1, n/2 + 1, ...
RingPlace place_in_ring(const StandaloneRun& run);

/// comm.link, with what run.fault makes of it on this rank: slow_link makes one rank's ten times as slow,
/// rank_order has half of the ranks share the bandwidth of one.
MessageLink link_of_run(const StandaloneRun& run);

class ChunkComm;
/// Makes a buffer the sum over the ranks, on one of them.
using AllReduce = void(ChunkComm& comm, const RingPlace& at);

namespace seams {

/// The ring of a run whose page has `ring`.
inline constinit Seam<AllReduce*(AllReduce* ring)> ring{[](AllReduce* ring) { return ring; }};

}  // namespace seams

/// The one of these that comm.algorithm names.
inline AllReduce* chosen(AllReduceKind kind, AllReduce* ring, AllReduce* tree, AllReduce* naive) {
  return kind == AllReduceKind::ring ? seams::ring(ring) : kind == AllReduceKind::tree ? tree : naive;
}

/// How many of them are not the sum over `ranks` ranks of scale (r + 1 + i mod 7); whole numbers to the bit.
std::int64_t wrong_sums(std::span<const float> values, float scale, int ranks);

/// Buffers whose sum over the ranks is known, of 1 KiB, four times as many, ..., comm.bench_bytes in turn;
/// and how long their sums took.
class AllReduceBench {
 public:
  AllReduceBench(StandaloneRun& run, Messages& messages);

  /// Lines for the start of the run.
  std::vector<std::string> text() const;

  /// This rank's buffer of a step: value i of rank r is r + 1 + i mod 7, so that sums are whole numbers, and
  /// a third of it every other time round, so that they are rounded. The mistakes of run.fault strike here.
  std::span<float> fill(std::int64_t step);

  /// Ends the step: whether the sums are right, and whether all ranks have the same bits; the time is that of
  /// the slowest rank. All ranks call it.
  void finish(StandaloneStep& step);

  /// Sizes with their median times and bandwidths, the model's prediction, and the latency and bandwidth that
  /// fit.
  std::vector<std::string> table() const;

 private:
  std::vector<std::string> fit_lines() const;

  StandaloneRun& run_;
  Messages& messages_;
  std::vector<std::int64_t> sizes_;  ///< values
  std::vector<float> values_;
  float scale_ = 1;
  std::int64_t messages_before_ = 0;
  std::int64_t bytes_before_ = 0;
  std::map<std::int64_t, std::vector<double>> times_us_;  ///< by bytes
  double wrong_ = 0;                                      ///< wrong values, of the rank with the most
  double other_bits_ = 0;                                 ///< sums whose bits were not the same on all ranks
};

}  // namespace isobar
