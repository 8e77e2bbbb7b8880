#pragma once
// Gradients of buckets, of whose mean over ranks each keeps its part.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "model/parameters.h"
#include "shard/wait_log.h"
#include "train/gradient_hooks.h"

namespace isobar {

/// A bucket leaves by reduce-scatter once all its leaves have their gradients, behind all buckets before it,
/// while backward continues; with comm.overlap = false when backward is done. Where whole gradients do not
/// stay (mesh.zero = 2, 3) a bucket's are there from the first one to the end of its reduce-scatter, two
/// buckets' at most; the parts of micro-batches add up.
class GradientShares {
 public:
  /// `parameters` are shared out and materialised. `copies`: ranks that own the same part, between which it
  /// is averaged too; null = none do. All outlive this.
  GradientShares(Parameters& parameters, Comm& comm, Comm* copies, const Config& config, WaitLog& log);
  ~GradientShares();
  GradientShares(const GradientShares&) = delete;
  GradientShares& operator=(const GradientShares&) = delete;

  /// Own parts were zeroed: what comes next need not add to them.
  void zeroed() { is_zero_.assign(is_zero_.size(), true); }
  /// In front of a backward pass; `last`: that of the last micro-batch.
  void begin(bool last);
  /// Backward has reached this bucket.
  void reach(std::size_t bucket);
  /// Instead of a backward pass whose gradients come one by one: all are there, and leave.
  void send_all();
  /// `left(bucket)` is called when all gradients of a bucket are there, and it left.
  void on_left(std::function<void(std::size_t)> left) { left_ = std::move(left); }
  /// Behind backward: waits for all that left. Error (exit code 1) that names a gradient which never came.
  void finish();

 private:
  struct Held {
    std::size_t missing = 0;  ///< leaves
    bool came = false;        ///< all gradients are there
    at::Tensor landing;       ///< this rank's part, where it adds to one
    Work work;
    std::int64_t number = 0;  ///< in the log
    Work between;
  };
  void ready(std::size_t leaf);
  void send(std::size_t bucket);
  void land(std::size_t bucket);
  void check_arrivals() const;

  Parameters& parameters_;
  Comm& comm_;
  Comm* copies_;
  WaitLog& log_;
  bool overlap_;
  Reduce reduce_;
  bool armed_ = false;
  bool last_ = false;
  std::vector<std::size_t> bucket_of_;  ///< by leaf
  std::vector<bool> is_ready_;          ///< by leaf
  std::vector<bool> is_zero_;           ///< by bucket: its own gradients
  std::vector<Held> held_;              ///< by bucket
  std::size_t sent_ = 0;                ///< buckets
  std::function<void(std::size_t)> left_;
  std::optional<GradientHooks> hooks_;
};

}  // namespace isobar
