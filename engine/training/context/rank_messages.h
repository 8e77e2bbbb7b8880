#pragma once
// Messages between ranks of one model inside its layers, counted.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"

namespace isobar {

/// What the ranks of a model sent each other, and how long this one stood still for it.
struct TensorParallelFigures {
  std::int64_t calls = 0;
  std::int64_t wire_bytes = 0;  ///< bytes that this rank sent (CommCounts)
  /// The host's waits in either pass; on a CUDA device it does not wait. What is computed again in backward
  /// waits there.
  std::int64_t forward_wait_us = 0, backward_wait_us = 0;
  std::vector<CollectiveTimes> times = {};
};

/// Names of a timeline's tracks, by the pass that a message belongs to; they outlive who has them.
struct PassTracks {
  std::string_view forward = {}, backward = {};
};

class RankMessages {
 public:
  /// With comm.sync = none in a run that measures on made-up data nothing is sent: results are noise then.
  RankMessages(Comm& comm, const Config& config, const PassTracks& tracks);
  virtual ~RankMessages() = default;

  int count() const { return count_; }
  int index() const { return index_; }
  const PassTracks& tracks() const { return tracks_; }
  bool sums_in_float() const { return mesh_.grad_dtype == GradBits::bits_32; }

  /// The sum over the ranks, written to `x` itself (contiguous). 16-bit values travel as float32 where the
  /// backend would add them in another order on each rank.
  virtual void all_reduce(const at::Tensor& x, std::string_view what);
  /// [R/t, ...] of each rank -> [R, ...].
  at::Tensor all_gather(const at::Tensor& x, std::string_view what);
  /// [R, ...] -> this rank's [R/t, ...] of the sum.
  at::Tensor reduce_scatter(const at::Tensor& x, std::string_view what);

  /// An all-to-all under way.
  struct Moving {
    Work work = {};
    at::Tensor in = {}, out = {};
    std::string_view what = {};
  };
  /// Starts to send sends[r] elements of contiguous `in` to each rank r, and to receive `out`
  /// (Comm::all_to_all).
  Moving start_all_to_all(const at::Tensor& out, const at::Tensor& in,
                          const std::vector<std::int64_t>& receives, const std::vector<std::int64_t>& sends,
                          std::string_view what);
  /// Its `out`, once it is there.
  at::Tensor finish(Moving moving);

  /// Figures of the training step; forward passes between steps, which score, are left out.
  virtual TensorParallelFigures take_figures();
  /// The host's waits that are not taken yet.
  std::int64_t waited_us() const { return figures_.forward_wait_us + figures_.backward_wait_us; }

 private:
  bool travels_as_float(at::ScalarType type) const;
  bool scores(std::string_view what) const;
  void count(const CommCounts& before, std::string_view what);
  void wait(Work& work, std::string_view what);
  void finish(Work work, const CommCounts& before, std::string_view what);

  Comm* comm_;
  int count_;
  int index_;
  PassTracks tracks_;
  MeshConfig mesh_;
  bool sends_;
  std::int64_t taken_step_ = -1;  ///< forward passes behind it, or before any, belong to no step: they score
  TensorParallelFigures figures_;
};

}  // namespace isobar
