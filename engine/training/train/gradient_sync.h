#pragma once
// Gradients averaged over ranks (data parallelism), in the ways that comm.sync names.
//
//   buckets        ours: full buckets travel while backward runs (gradient_buckets.h). The flat buffers
//                  are laid out in the order of comm.bucket_order and cut at comm.bucket_mb, the first at the
//                  smaller of that and comm.first_bucket_mb. Ready is the order in which gradients became
//                  ready on rank 0 in the first step, which has one bucket; reverse and forward, that of the
//                  declaration from its end or its beginning, are known before. Buckets are views of the
//                  gradients, or with comm.bucket_view = false messages that these are copied into and from.
//   at_end         one all-reduce of all gradients behind backward
//   per_parameter  one all-reduce a parameter, as each is ready
//   reducer        libtorch's c10d::Reducer, with copies into its buckets and out of them
//   none           not at all: every rank goes its own way
//
// The mean is the sum divided by the number of ranks. (Li et al. 2020, "PyTorch Distributed".)
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "formula/bucket_plan.h"
#include "model/parameters.h"
#include "model/tensor_parallel.h"
#include "train/gradient_buckets.h"
#include "train/sync_figures.h"

namespace isobar {

/// Gradients as they fill the buckets, the same on all ranks.
struct GradientOrder {
  std::vector<std::size_t> leaves;        ///< their places in Parameters::leaves
  std::vector<std::int64_t> sizes_bytes;  ///< size of each
  // Rank 0 measured them in the step before, since its backward pass began; none before the first.
  std::vector<double> ready_us;  ///< when each was there
  double backward_us = 0;        ///< when the pass was done
};

class GradientSync {
 public:
  virtual ~GradientSync() = default;
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  /// In front of the forward pass of each micro-batch: share_buffers. Only the backward pass of the last one
  /// of a step communicates; the others add to the gradients.
  void begin(bool last_micro_batch = true);

  /// Where comm.broadcast_buffers is on, the buffers of all ranks become those of rank 0. For a forward pass
  /// that nobody differentiates.
  void share_buffers();

  /// loss.backward(), with gradients that leave as they become ready.
  void backward(const at::Tensor& loss);

  /// Behind the last backward pass of a step: gradients are those of all ranks when it returns. Error (exit
  /// code 1) that names a parameter which got no gradient (`reducer` reports it in the next `begin`).
  /// `model`: the ranks that share a model, whose collectives are counted with it.
  SyncFigures finish(const TensorParallel& model = {});
  /// Figures of the last `finish`; a recorded step sends the same again.
  const SyncFigures& sent() const { return sent_; }

  // Which gradients travel together, of comm.sync = buckets: `begin` plans by comm.bucket_mb where nobody did
  // before it. All ranks call these alike, between steps.
  /// Whether gradients are still to be cut, and the order of comm.bucket_order is known by now.
  virtual bool plan_is_due() const { return false; }
  /// Ready: as they came on rank 0 in the step before, and none where there was no such step.
  virtual GradientOrder order(BucketOrder /*which*/) { return {}; }
  /// From now on gradients travel in these buckets. Error (exit code 1) unless each of `order` is in one.
  virtual void plan(const GradientOrder& /*order*/, std::vector<PlannedBucket> /*buckets*/) {}

  /// All-reduces of a step from now on, as planned; of compressed ones, of the step that began last.
  virtual std::int64_t planned_calls() const = 0;

 protected:
  GradientSync(Parameters& parameters, Comm& comm, const CommConfig& config);

  /// In front of the forward pass that ends in communication.
  virtual void prepare() {}
  /// In front of its backward pass.
  virtual void arm() {}
  /// Behind it: does what is left to do; times by collective, in their order.
  virtual std::vector<CollectiveTimes> exchange() = 0;

  Parameters& parameters_;
  Comm& comm_;
  CommConfig config_;
  Reduce reduce_;
  DispatchFigures figures_;              ///< `exchange` fills in what it has
  std::vector<StoodStill> stood_still_;  ///< where `exchange` has it; empty: it waited from its last call on

 private:
  CommCounts before_;
  SyncFigures sent_;
  bool in_step_ = false;
  bool last_ = false;
};

/// The one that comm.sync names; in a group of one rank always `none`. `parameters` (materialised) and `comm`
/// outlive it; `stream`: on which backward will run, where that is not the current one, since hooks of
/// gradients belong to a stream for good.
std::unique_ptr<GradientSync> make_gradient_sync(Parameters& parameters, Comm& comm, const CommConfig& config,
                                                 std::optional<c10::Stream> stream = {});

/// Each of them, whatever the number of ranks.
std::unique_ptr<GradientSync> make_bucket_sync(Parameters& parameters, Comm& comm, const CommConfig& config);
std::unique_ptr<GradientSync> make_at_end_sync(Parameters& parameters, Comm& comm, const CommConfig& config);
std::unique_ptr<GradientSync> make_per_parameter_sync(Parameters& parameters, Comm& comm,
                                                      const CommConfig& config);
std::unique_ptr<GradientSync> make_reducer_sync(Parameters& parameters, Comm& comm, const CommConfig& config);
std::unique_ptr<GradientSync> make_no_sync(Parameters& parameters, Comm& comm, const CommConfig& config);

}  // namespace isobar
