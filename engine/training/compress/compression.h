#pragma once
// What a bucket sends in place of its gradients (comm.compress), with its state from step to step.
//
//   none      the gradients, where they lie; a mean
//   fp16      in 16 bits, divided by the number of ranks before they are added, so that sums stay in range
//   bf16      likewise
//   powersgd  M = gradient + E; P = M Q, the mean of P over ranks, orthonormal; Q = M^T P, the mean of Q; the
//             gradient becomes P Q^T, and E = M - P Q^T with the common P and Q. Two messages a bucket.
//             (Vogels et al. 2019)
//   acpsgd    P and Q in turn, step by step, each times the other of the step before; E = M - P Q^T with the
//             own factor. One message a bucket; buckets are cut for P and for Q by themselves, at
//             comm.bucket_mb times their share of the bytes. (Zhang et al. 2023)
//
// Vectors, and matrices that do not pay (formula/compression.h), travel whole beside the factors. E starts at
// zero, also in a run that is resumed, whose first comm.compress_start steps are whole again.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/comm.h"
#include "compress/bucket_task.h"
#include "config/config.h"
#include "model/parameters.h"
#include "train/sync_figures.h"

namespace isobar {

/// How messages of one kind of step are filled.
class Payloads {
 public:
  virtual ~Payloads() = default;
  /// Gradients lie there from now on; errors and factors stay.
  virtual void plan(const BucketsToSend& buckets) = 0;
  /// The buckets of the step that begins.
  virtual const std::vector<PlannedBucket>& begin_step() = 0;
  /// All-reduces of this bucket in this step.
  virtual int rounds(std::size_t bucket) const = 0;
  virtual Payload transform(const SentBucket& bucket) = 0;
  virtual void finish(const SentBucket& bucket) = 0;
  /// [errors of all matrices], float32; undefined where there are none.
  virtual at::Tensor errors() const { return {}; }
};

class Compression {
 public:
  /// By comm.compress. Error (exit code 2) where comm.compress_rank leaves no matrix to compress. `seed` is
  /// the same on all ranks.
  Compression(const Parameters& parameters, Comm& comm, const CommConfig& config, std::int64_t seed);

  // A page's: what a bucket sends, and what becomes of its gradients.
  /// What to send next; nothing where all rounds are done.
  std::optional<Payload> transform(const SentBucket& bucket);
  /// All rounds are done: gradients are those of all ranks.
  void finish(const SentBucket& bucket) { now_->finish(bucket); }
  /// Every comm.error_every steps, with an all-reduce; all ranks call it alike, behind `finish` of all
  /// buckets.
  ErrorNorms error_norms(std::int64_t step);

  // The sync's.
  void plan(const BucketsToSend& buckets);
  const std::vector<PlannedBucket>& begin_step();
  int rounds(std::size_t bucket) const { return now_->rounds(bucket); }
  bool compresses() const { return now_ == chosen_.get(); }  ///< in this step

 private:
  Comm& comm_;
  std::int64_t error_every_;
  std::int64_t whole_steps_;  ///< still to come
  std::unique_ptr<Payloads> whole_;
  std::unique_ptr<Payloads> chosen_;  ///< null: whole
  Payloads* now_ = nullptr;
};

/// comm.compress = powersgd; acpsgd. `seed`: that of the first factors.
std::unique_ptr<Payloads> make_power_payloads(const Parameters& parameters, const CommConfig& config,
                                              std::int64_t seed);
std::unique_ptr<Payloads> make_alternate_payloads(const Parameters& parameters, const CommConfig& config,
                                                  std::int64_t seed);

}  // namespace isobar
