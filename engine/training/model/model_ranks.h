#pragma once
// What moves tensors between the ranks of one model. Layers hold a TensorParallel (model/tensor_parallel.h).
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "core/seam.h"

namespace isobar {

// Tracks of the timeline.
inline constexpr std::string_view kForwardTrack = "tp forward";
inline constexpr std::string_view kBackwardTrack = "tp backward";

/// What the ranks of a model sent each other, and how long this one stood still for it.
struct TensorParallelFigures {
  std::int64_t calls = 0;
  std::int64_t wire_bytes = 0;  ///< bytes that this rank sent (CommCounts)
  std::int64_t forward_wait_us =
      0;  ///< the host's waits in forward passes; on a CUDA device it does not wait
  std::int64_t backward_wait_us = 0;
  std::vector<CollectiveTimes> times = {};
};

class ModelRanks : public std::enable_shared_from_this<ModelRanks> {
 public:
  ModelRanks(Comm& comm, const Config& config);
  virtual ~ModelRanks() = default;

  int count() const { return count_; }
  int index() const { return index_; }
  bool shares_tokens() const { return mesh_.sequence_parallel; }
  bool sums_in_float() const { return mesh_.grad_dtype == GradBits::bits_32; }

  /// This rank's tokens, a view.
  at::Tensor own_tokens(const at::Tensor& x) const {
    const std::int64_t rows = x.size(0) / count_;
    return x.narrow(0, index_ * rows, rows);
  }

  // TensorParallel declares these; they are virtual for the sake of linking.
  virtual at::Tensor enter(const at::Tensor& x);
  virtual at::Tensor leave(const at::Tensor& x);
  virtual at::Tensor unite(const at::Tensor& x);

  /// The sum over the ranks, written to `x` itself (contiguous). 16-bit values travel as float32 where the
  /// backend would add them in another order on each rank.
  virtual void all_reduce(const at::Tensor& x, std::string_view what);
  /// [R/t, ...] of each rank -> [R, ...].
  at::Tensor all_gather(const at::Tensor& x, std::string_view what);
  /// [R, ...] -> this rank's [R/t, ...] of the sum.
  at::Tensor reduce_scatter(const at::Tensor& x, std::string_view what);

  virtual TensorParallelFigures take_figures();
  /// The host's waits that are not taken yet.
  std::int64_t waited_us() const { return figures_.forward_wait_us + figures_.backward_wait_us; }

 private:
  bool travels_as_float(at::ScalarType type) const;
  void finish(Work work, std::string_view what);

  Comm* comm_;
  int count_;
  int index_;
  MeshConfig mesh_;
  bool sends_;
  CommCounts before_;             ///< the collective under way, which is waited for at once
  std::int64_t taken_step_ = -1;  ///< forward passes behind it, or before any, belong to no step: they score
  TensorParallelFigures figures_;
};

namespace seams {

// f and g of ranks that do not share tokens, as of TensorParallel::enter and leave.
using MovesTensor = at::Tensor(const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x);
extern constinit Seam<MovesTensor> enter;
extern constinit Seam<MovesTensor> leave;

}  // namespace seams
}  // namespace isobar
