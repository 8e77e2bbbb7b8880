#include "compress/compression.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/norm.h>
#include <fmt/format.h>

#include <algorithm>

#include "config/fault.h"
#include "core/error.h"
#include "device/memory_ledger.h"
#include "formula/compression.h"
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class WholePayloads final : public Payloads {
 public:
  void plan(const BucketsToSend& buckets) override { buckets_ = buckets; }
  const std::vector<PlannedBucket>& begin_step() override { return buckets_.plan; }
  int rounds(std::size_t /*bucket*/) const override { return 1; }
  Payload transform(const SentBucket& bucket) override {
    return {buckets_.stretches[bucket.index()], buckets_.reduce};
  }
  void finish(const SentBucket& /*bucket*/) override {}

 private:
  BucketsToSend buckets_;
};

class ShortPayloads final : public Payloads {
 public:
  ShortPayloads(at::ScalarType type, int ranks)
      : type_(type), ranks_(ranks), divides_last_(has_fault(Fault::fp16_overflow)) {}

  void plan(const BucketsToSend& buckets) override {
    buckets_ = buckets;
    messages_.clear();
    const MemoryScope scope(MemoryCategory::communication);
    for (const at::Tensor& stretch : buckets.stretches)
      messages_.push_back(at::empty(stretch.sizes(), stretch.options().dtype(type_)));
  }
  const std::vector<PlannedBucket>& begin_step() override { return buckets_.plan; }
  int rounds(std::size_t /*bucket*/) const override { return 1; }
  Payload transform(const SentBucket& bucket) override {
    at::Tensor& message = messages_[bucket.index()];
    message.copy_(buckets_.stretches[bucket.index()]);
    if (!divides_last_) message.div_(ranks_);
    return {message, Reduce::sum};
  }
  void finish(const SentBucket& bucket) override {
    at::Tensor& message = messages_[bucket.index()];
    if (divides_last_) message.div_(ranks_);
    buckets_.stretches[bucket.index()].copy_(message);
  }

 private:
  at::ScalarType type_;
  int ranks_;
  bool divides_last_;
  BucketsToSend buckets_;
  std::vector<at::Tensor> messages_;  ///< by bucket
};

/// Error (exit code 2) where all would travel whole.
void check_rank(const Parameters& parameters, const CommConfig& config) {
  std::int64_t most = 0;  // rank at which the matrix that pays longest still does
  for (const ParameterLeaf& leaf : parameters.leaves()) {
    const GradientMatrix matrix = matrix_of(leaf.tensor.sizes().vec());
    if (is_compressed(matrix, config.compress_rank, config.compress_min_ratio)) return;
    for (std::int64_t rank = most + 1; is_compressed(matrix, rank, config.compress_min_ratio); ++rank)
      most = rank;
  }
  throw Error(fmt::format("factors of rank {} are no smaller than any matrix of this model, by "
                          "comm.compress_min_ratio = {}",
                          config.compress_rank, config.compress_min_ratio),
              "comm.compress_rank",
              most > 0 ? fmt::format("a comm.compress_rank up to {}", most)
                       : "a larger model, or a smaller comm.compress_min_ratio",
              Exit::bad_input);
}

}  // namespace

Compression::Compression(const Parameters& parameters, Comm& comm, const CommConfig& config,
                         std::int64_t seed)
    : comm_(comm),
      error_every_(config.error_every),
      whole_steps_(config.compress_start),
      whole_(std::make_unique<WholePayloads>()) {
  if (has_fault(Fault::different_seeds)) seed += comm.rank();
  if (is_low_rank(config.compress)) check_rank(parameters, config);
  switch (config.compress) {
    case CompressKind::none:
      break;
    case CompressKind::fp16:
      chosen_ = std::make_unique<ShortPayloads>(at::kHalf, comm.size());
      break;
    case CompressKind::bf16:
      chosen_ = std::make_unique<ShortPayloads>(at::kBFloat16, comm.size());
      break;
    case CompressKind::powersgd:
      chosen_ = make_power_payloads(parameters, config, seed);
      break;
    case CompressKind::acpsgd:
      chosen_ = make_alternate_payloads(parameters, config, seed);
      break;
  }
}

std::optional<Payload> Compression::transform(const SentBucket& bucket) {
  if (bucket.rounds() == now_->rounds(bucket.index())) return {};
  return now_->transform(bucket);
}

void Compression::plan(const BucketsToSend& buckets) {
  whole_->plan(buckets);
  if (chosen_) chosen_->plan(buckets);
}

const std::vector<PlannedBucket>& Compression::begin_step() {
  const bool is_whole = !chosen_ || whole_steps_-- > 0;
  now_ = is_whole ? whole_.get() : chosen_.get();
  return now_->begin_step();
}

ErrorNorms Compression::error_norms(std::int64_t step) {
  if (error_every_ == 0 || (step + 1) % error_every_ != 0 || !chosen_) return {};
  const at::Tensor errors = chosen_->errors();
  if (!errors.defined()) return {};
  const at::NoGradGuard no_grad;
  const at::Tensor mean = errors.clone();
  comm_.all_reduce(mean, Reduce::mean, "errors").wait();
  return {at::norm(errors).item<double>(), at::norm(mean).item<double>()};
}

}  // namespace isobar
