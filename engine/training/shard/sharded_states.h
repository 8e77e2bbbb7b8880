#pragma once
// The states of training (weights, gradients, moments) shared out over data-parallel ranks, in the stages of
// mesh.zero (Rajbhandari et al. 2020, "ZeRO"; stage 3 is PyTorch's FSDP). Y parameters, n ranks of a group,
// S = 4 Y bytes.
//
//   stage  each rank keeps, bytes (Adam, float32)             sends a step, in units of S (n - 1) / n
//   0      16 Y: all of it                                    2: an all-reduce of gradients
//   1      (8 + 8/n) Y: all weights and gradients             2: reduce-scatter, then all-gather of weights
//   2      (4 + 12/n) Y: all weights                          2
//   3      16 Y/n                                             3: weights twice; 2 with mesh.reshard = false
//
// With mesh.gather_dtype = 16 weights travel in half the bytes (2, 1.5, 1.5, 2 units); each rank keeps its
// share in float32, and in stages 1 and 2 that is beside all rounded ones: 4 Y/n more.
//
// Units of the model (model/unit_watch.h) form buckets: each by itself in stage 3, else runs of neighbours
// that reach comm.bucket_mb, in the order of backward. A bucket is padded to a multiple of n x 16 floats, and
// rank r owns the r-th part. It leaves by reduce-scatter ("bucket 3") in backward, as soon as its last
// gradient is there. In stages 2 and 3 at most two buckets of gradients are in memory; in stage 3 weights of
// the unit that computes and of mesh.prefetch ahead ("gather 3"), and no unit's stay from forward to
// backward: not the last one's either, so that 3 units hold for every shape.
//
// A weight that changes in one replica between two gathers of stages 1 and 2, such as by a bit that flips, is
// overwritten by its owner's or spreads from it: comm.hash_every, which compares behind the gather, sees it
// in stage 0 alone.
//
// Micro-batches: in stages 0 and 1 gradients add up here and travel once a step. In stages 2 and 3 each
// micro-batch's are reduced and added to the share (as FSDP2 does unless set_requires_gradient_sync keeps
// them), and stage 3 gathers weights for each: its 3 units hold for a micro-batch.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "model/parameters.h"
#include "model/tensor_parallel.h"
#include "model/unit_watch.h"
#include "shard/gradient_shares.h"
#include "shard/weight_gathers.h"
#include "train/gradient_sync.h"
#include "train/sync_figures.h"

namespace isobar {

class ShardedStates final : public UnitWatch, private SharesParameters {
 public:
  /// Decides who of `group` holds what of `parameters`, which were declared, and are materialised next.
  /// `copies`: the ranks that own the same shares in other groups, between which gradients are averaged too;
  /// null = this group is all. All outlive this. Stage 0 averages by comm.sync (train/gradient_sync.h), and
  /// other stages in buckets of their own: Error (exit code 2) for a comm.sync that names another way, or a
  /// fault that needs what is not there.
  ShardedStates(Parameters& parameters, Comm& group, const Config& config, Comm* copies = nullptr);
  ~ShardedStates() override;

  std::int64_t stage() const { return stage_; }

  /// In front of the first micro-batch of a step.
  void zero_gradients();
  /// In front of the forward pass of each micro-batch; with comm.broadcast_buffers buffers become rank 0's.
  void begin(bool last_micro_batch = true);
  /// loss.backward(); gradients leave, and weights come and go, while it runs.
  void backward(const at::Tensor& loss);
  /// Behind the last backward pass of a step: the gradients of what this rank updates are those of all ranks
  /// when it returns. Error (exit code 1) that names a parameter which got no gradient. `model`: the ranks
  /// that share a model, whose collectives are counted with it.
  SyncFigures finish(const TensorParallel& model = {});
  /// Instead of begin, backward and finish, where gradients were added by passes of their own, as a
  /// pipeline's: all of them travel now, in one message in stage 0 and in buckets in stage 1, and nothing
  /// runs beside them. Error (exit code 2) in stages 2 and 3, which have no gradients of all micro-batches.
  SyncFigures exchange(const TensorParallel& model = {});
  /// Behind the update: in stages 1 and 2 each rank gets what the others updated. Gives what was sent since
  /// `finish`, by the optimiser too.
  SyncFigures gather_weights();

  // UnitWatch, which the model calls.
  void begin_forward(std::size_t unit) override;
  void end_forward(std::size_t unit) override;
  void begin_backward(std::size_t unit) override;
  at::Tensor cast(const at::Tensor& leaf, at::ScalarType type) override;

 private:
  Comm& group() override { return group_; }
  Comm* copies() override { return copies_; }
  void own_values_changed() override;
  void offloaded(Offloaded way, std::int64_t begin_us, std::int64_t end_us, std::int64_t bytes) override;
  bool gathers_units() const { return stage_ == 3; }
  bool averages_by_sync() const { return stage_ == 0 && copies_ == nullptr; }
  /// What needs memory of the parameters, made once they have some.
  void settle_in();
  void begin_figures(WaitLog::Phase first);
  void run_backward(const at::Tensor& loss);
  /// Starts to gather units first, first + step, ..., as many as mesh.prefetch.
  void fetch_ahead(std::int64_t first, std::int64_t step);
  void bucket_left(std::size_t bucket);
  /// What was sent since the last call, or since `begin`.
  SyncFigures figures(const TensorParallel& model);
  void gather_gradients();

  Parameters& parameters_;
  Comm& group_;
  Comm* copies_;
  Config config_;
  std::int64_t stage_;
  std::vector<std::size_t> bucket_of_unit_;
  WaitLog log_;
  WeightGathers weights_;
  std::unique_ptr<GradientSync> sync_;                           ///< stage 0, from `begin` on
  std::unique_ptr<GradientShares> shares_;                       ///< other stages
  std::unordered_map<const void*, std::size_t> bucket_of_leaf_;  ///< by the leaf's tensor, in stage 3
  at::Tensor cast_;                                              ///< all weights in 16 bits, where they stay
  CommCounts before_, before_between_;
  std::int64_t offload_down_bytes_ = 0, offload_up_bytes_ = 0;  ///< since the last figures
  bool settled_ = false;
  bool in_step_ = false;
  bool in_backward_ = false;
  bool last_ = false;
};

}  // namespace isobar
