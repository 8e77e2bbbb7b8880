#pragma once
// What a rank of ddp_worker.cpp trains: a model with all that a step of one of the lessons takes.
#include <functional>
#include <memory>
#include <optional>

#include "bench/worker_data.h"
#include "comm/comm.h"
#include "compress/compressed_sync.h"
#include "compress/factors.h"
#include "data/loader.h"
#include "formula/compression.h"
#include "model/context_parallel.h"
#include "model/fused_vit.h"
#include "model/relative_l2.h"
#include "model/vit.h"
#include "pipeline/pipeline.h"
#include "shard/sharded_states.h"
#include "support/bucket_way.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/gradient_sync.h"
#include "train/replicas.h"
#include "train/weights.h"

namespace isobar::bench {

inline constexpr std::int64_t kSeed = 1;

/// A model with all that trains it, averaged over `comm`.
class Replica {
 public:
  Replica(bool fused, const VitShape& shape, const OptimConfig& optim, const std::filesystem::path& weights,
          Comm& comm, const CommConfig& config, const std::filesystem::path& factors)
      : optim_(optim), scaler_({.mode = AmpMode::none}, at::kCPU) {
    if (fused) {
      loss_ = [model = FusedVit(parameters_, shape, {}, AttentionKind::automatic)](const Batch& batch) {
        return model.loss(batch.input, batch.target);
      };
    } else {
      optim_.kernel = AdamKernel::libtorch;  // as PyTorch's Adam, fused=True
      loss_ = [model = Vit(parameters_, shape)](const Batch& batch) {
        return relative_l2(model(batch.input), batch.target);
      };
    }
    parameters_.materialise(kSeed, at::kCPU);
    load_weights(parameters_, weights);
    broadcast_weights(parameters_, comm);
    adam_ = std::make_unique<FusedAdam>(parameters_, optim_, FusionConfig{});
    if (config.compress == CompressKind::none) {
      sync_ = make_gradient_sync(parameters_, comm, config);
      return;
    }
    compression_.emplace(parameters_, comm, config, kSeed);
    if (comm.rank() == 0) write_first_factors(config, factors);
    sync_ = make_compressed_sync(parameters_, comm, config, *compression_, testing::way_of(*compression_));
  }

  at::Tensor step(const Batch& batch) {
    parameters_.zero_gradients();
    sync_->begin();
    const at::Tensor loss = loss_(batch);
    sync_->backward(loss);
    sync_->finish();
    adam_->step(optim_.lr, scaler_);
    return loss.detach();
  }

 private:
  /// What the compression begins with, for PyTorch's side to begin with, too.
  void write_first_factors(const CommConfig& config, const std::filesystem::path& file) {
    NamedTensors out;
    for (const ParameterLeaf& leaf : parameters_.leaves()) {
      const GradientMatrix matrix = matrix_of(leaf.tensor.sizes().vec());
      if (!is_compressed(matrix, config.compress_rank, config.compress_min_ratio)) continue;
      out.emplace_back(leaf.name,
                       random_factor(matrix.columns, matrix.rank(config.compress_rank), kSeed, leaf.name,
                                     /*turn=*/0, leaf.tensor));
    }
    write_tensors(file, out);
  }

  OptimConfig optim_;
  Parameters parameters_;
  std::optional<Compression> compression_;
  std::function<at::Tensor(const Batch&)> loss_;
  std::unique_ptr<FusedAdam> adam_;
  GradScaler scaler_;
  std::unique_ptr<GradientSync> sync_;
};

/// The fused model, whose states the ranks of `comm` share out as in lesson 13.
class ShardedReplica {
 public:
  ShardedReplica(const VitShape& shape, const Config& config, const std::filesystem::path& weights,
                 Comm& comm)
      : optim_(config.optim),
        scaler_({.mode = AmpMode::none}, at::kCPU),
        model_(parameters_, shape, {}, AttentionKind::automatic),
        states_(parameters_, comm, config) {
    model_.watch_units(states_);
    parameters_.materialise(kSeed, at::kCPU);
    load_weights(parameters_, weights);
    adam_.emplace(parameters_, optim_, FusionConfig{});
  }

  at::Tensor step(const Batch& batch) {
    states_.zero_gradients();
    states_.begin();
    const at::Tensor loss = model_.loss(batch.input, batch.target);
    states_.backward(loss);
    states_.finish();
    adam_->step(optim_.lr, scaler_);
    states_.gather_weights();
    return loss.detach();
  }

 private:
  OptimConfig optim_;
  GradScaler scaler_;
  Parameters parameters_;
  FusedVit model_;
  ShardedStates states_;
  std::optional<FusedAdam> adam_;
};

/// The stages of one rank of `comm`, as in lesson 15. In a group of one the whole model and no pipeline: all
/// micro-batches one behind the other.
class StagedReplica {
 public:
  StagedReplica(const VitShape& shape, const Config& config, const std::filesystem::path& weights, Comm& comm)
      : optim_(config.optim),
        scaler_({.mode = AmpMode::none}, at::kCPU),
        parts_(config.train.accumulate),
        model_(parameters_, shape, {}, AttentionKind::automatic, {}, stages_here(comm, config)) {
    parameters_.materialise(kSeed, at::kCPU);
    load_weights(parameters_, weights, &comm);
    adam_.emplace(parameters_, optim_, FusionConfig{});
    if (comm.size() > 1) pipeline_.emplace(model_, comm, config);
  }

  at::Tensor step(const Batch& batch) {
    parameters_.zero_gradients();
    const at::Tensor loss = pipeline_ ? in_stages(batch) : in_turn(batch);
    adam_->step(optim_.lr, scaler_);
    return loss;
  }

 private:
  at::Tensor in_turn(const Batch& batch) {
    const std::int64_t samples = batch.size() / parts_;
    at::Tensor sum;
    for (std::int64_t begin = 0; begin < batch.size(); begin += samples) {
      const at::Tensor loss =
          model_.loss(batch.input.narrow(0, begin, samples), batch.target.narrow(0, begin, samples))
              .div(parts_);
      loss.backward();
      sum = sum.defined() ? sum.add(loss.detach()) : loss.detach();
    }
    return sum;
  }

  at::Tensor in_stages(const Batch& batch) {
    pipeline_->begin(batch);
    for (const PipelineAction& next : pipeline_->actions()) {
      at::Tensor in = pipeline_->receive(next), out;
      if (next.work == PipelineWork::forward)
        out = pipeline_->forward(next, in);
      else if (next.work == PipelineWork::weight)
        pipeline_->weights(next);
      else
        out = pipeline_->backward(next, in, scaler_);
      pipeline_->send(next, out);
    }
    return pipeline_->finish();
  }

  OptimConfig optim_;
  GradScaler scaler_;
  std::int64_t parts_;
  Parameters parameters_;
  FusedVit model_;
  std::optional<FusedAdam> adam_;
  std::optional<Pipeline> pipeline_;
};

/// The fused model, whose tokens the ranks of `comm` share as in lesson 16.
class TokenReplica {
 public:
  TokenReplica(const VitShape& shape, const Config& config, const std::filesystem::path& weights, Comm& comm)
      : optim_(config.optim),
        scaler_({.mode = AmpMode::none}, at::kCPU),
        context_(comm, config),
        model_(parameters_, shape, {}, AttentionKind::automatic, {}, {}, context_) {
    parameters_.materialise(kSeed, at::kCPU);
    load_weights(parameters_, weights);
    adam_.emplace(parameters_, optim_, FusionConfig{});
  }

  at::Tensor step(const Batch& batch) {
    parameters_.zero_gradients();
    const at::Tensor loss = model_.loss(batch.input, batch.target);
    loss.backward();
    context_.sum_partial_gradients(parameters_);
    adam_->step(optim_.lr, scaler_);
    return loss.detach();
  }

 private:
  OptimConfig optim_;
  GradScaler scaler_;
  Parameters parameters_;
  ContextParallel context_;
  FusedVit model_;
  std::optional<FusedAdam> adam_;
};

}  // namespace isobar::bench
