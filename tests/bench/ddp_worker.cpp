// One rank of the step of `bench ddp`, `bench compress`, `bench zero` and `bench pipeline`. Usage:
// bench_ddp_worker FOLDER, which holds case.json, in the environment of a rank; rank 0 writes the weights and
// batches that both sides use. Then it answers commands (worker.h), which all ranks must get.
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "bench/serve.h"
#include "bench/worker_data.h"
#include "comm/comm.h"
#include "compress/compressed_sync.h"
#include "compress/factors.h"
#include "core/error.h"
#include "core/files.h"
#include "data/loader.h"
#include "device/device.h"
#include "formula/compression.h"
#include "model/fused_vit.h"
#include "model/relative_l2.h"
#include "model/vit.h"
#include "pipeline/pipeline.h"
#include "shard/sharded_states.h"
#include "support/bucket_way.h"
#include "support/named.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/gradient_sync.h"
#include "train/replicas.h"
#include "train/weights.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSeed = 1;

/// A model with all that trains it, averaged over `comm`.
class Replica {
 public:
  Replica(bool fused, const VitShape& shape, const OptimConfig& optim, const fs::path& weights, Comm& comm,
          const CommConfig& config, const fs::path& factors)
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
  void write_first_factors(const CommConfig& config, const fs::path& file) {
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
  ShardedReplica(const VitShape& shape, const Config& config, const fs::path& weights, Comm& comm)
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
  StagedReplica(const VitShape& shape, const Config& config, const fs::path& weights, Comm& comm)
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

class Rank {
 public:
  explicit Rank(const fs::path& folder)
      : folder_(folder),
        weights_(folder / "weights.safetensors"),
        sheet_(Json::parse(read_text_file(folder / "case.json", 1 << 20))),
        environment_(read_rank_environment()),
        shape_(shape_of(sheet_)) {
    set_up_cpu(sheet_["threads"]);
    optim_.lr = sheet_["lr"];
    optim_.beta1 = sheet_["beta1"];
    optim_.beta2 = sheet_["beta2"];
    optim_.eps = sheet_["eps"];
    make_batches(folder / "batches.safetensors");
    if (environment_.rank == 0) {
      Parameters parameters;
      const Vit model(parameters, shape_);
      parameters.materialise(kSeed, at::kCPU);
      save_weights(parameters, weights_);
    }
    malloc_trim(0);  // what was made for the files is no part of a step
  }

  /// reset MODEL BACKEND SYNC [RANK START]: from now on the step of this kind, from the first weights. MODEL:
  /// plain, fused. RANK above 0: by PowerSGD behind the first START steps, in one bucket, as the peer does
  /// it. reset fused BACKEND buckets zero STAGE: with states that are shared out. reset fused BACKEND buckets
  /// pipeline SCHEDULE PARTS CHUNKS: cut by depth.
  Json reset(const Words& words) {
    CommConfig config;
    config.backend = testing::named<BackendKind>(words.at(1));
    config.sync = testing::named<SyncKind>(words.at(2));
    const bool is_cut = words.size() > 3 && words.at(3) == "pipeline";
    const bool shares_out = words.size() > 3 && words.at(3) == "zero";
    config.timeout_s = 60;
    config.probe = false;
    if (config.backend == BackendKind::gloo) config.interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (words.size() > 3 && !shares_out && !is_cut && words.at(3) != "0") {
      config.compress = CompressKind::powersgd;
      config.compress_rank = std::stoi(words.at(3));
      config.compress_start = std::stoi(words.at(4));
      config.bucket_mb = config.first_bucket_mb = 1024;
    }
    step_ = {};
    if (comms_.count(words.at(1)) == 0) {
      RankEnvironment environment = environment_;
      environment.meeting_file += "-" + words.at(1);
      comms_.emplace(words.at(1), Comm(environment, config, false));
    }
    Comm& comm = comms_.at(words.at(1));
    if (shares_out || is_cut) {
      Config whole;
      whole.optim = optim_;
      whole.comm = config;
      if (is_cut) {
        set_pipeline(whole, words);
        step_ = steps_of(std::make_shared<StagedReplica>(shape_, whole, weights_, comm));
      } else {
        whole.mesh.zero = std::stoi(words.at(4));
        step_ = steps_of(std::make_shared<ShardedReplica>(shape_, whole, weights_, comm));
      }
    } else {
      step_ = steps_of(std::make_shared<Replica>(words.at(0) == "fused", shape_, optim_, weights_, comm,
                                                 config, folder_ / "factors.safetensors"));
    }
    comm_ = &comm;
    steps_ = 0;
    return {{"backend", comm.backend()}};
  }

  /// losses N: means over ranks.
  Json losses(const Words& words) {
    std::vector<double> out;
    for (int i = 0; i < std::stoi(words.at(0)); ++i) {
      const std::vector<double> all = comm_->all_gather_numbers(step().item<double>(), "losses");
      out.push_back(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()));
    }
    return {{"losses", out}};
  }

  /// run N: microseconds of each step.
  Json run(const Words& words) {
    std::vector<double> out;
    comm_->barrier("block");
    for (int i = 0; i < std::stoi(words.at(0)); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      step();
      out.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return {{"step", out}};
  }

 private:
  void set_pipeline(Config& config, const Words& words) const {
    config.model.embed = shape_.embed;
    config.model.depth = shape_.depth;
    config.model.heads = shape_.heads;
    config.model.patch = shape_.patch;
    config.mesh.pp = environment_.world;
    config.mesh.schedule = testing::named<PipelineForm>(words.at(4));
    config.train.accumulate = std::stoi(words.at(5));
    config.mesh.chunks = std::stoi(words.at(6));
  }

  /// Each rank has its samples of a joint batch; where ranks share one model, all of them ("whole_batches").
  void make_batches(const fs::path& file) {
    const bool whole = sheet_.value("whole_batches", false);
    const std::vector<std::int64_t> sizes = {sheet_["batch"], shape_.channels, shape_.height, shape_.width};
    NamedTensors tensors;
    for (int i = 0; i < sheet_["batches"]; ++i) {
      Batch batch;
      for (auto [tensor, name] : {std::pair(&batch.input, "input."), std::pair(&batch.target, "target.")}) {
        const at::Tensor joint = random_field(name + std::to_string(i), sizes);
        tensors.emplace_back(name + std::to_string(i), joint);
        *tensor =
            whole ? joint : joint.slice(0, environment_.rank, joint.size(0), environment_.world).contiguous();
      }
      batches_.push_back(batch);
    }
    if (environment_.rank == 0) write_tensors(file, tensors);
  }

  template <class Made>
  static std::function<at::Tensor(const Batch&)> steps_of(const std::shared_ptr<Made>& replica) {
    return [replica](const Batch& batch) { return replica->step(batch); };
  }

  at::Tensor step() { return step_(batches_[steps_++ % batches_.size()]); }

  fs::path folder_, weights_;
  Json sheet_;
  RankEnvironment environment_;
  VitShape shape_;
  OptimConfig optim_;
  std::vector<Batch> batches_;
  std::map<std::string, Comm> comms_;
  Comm* comm_ = nullptr;
  std::function<at::Tensor(const Batch&)> step_;
  std::size_t steps_ = 0;
};

int serve_rank(int argc, char** argv) {
  if (argc != 2) throw Error("which folder?", "bench_ddp_worker FOLDER", "./isobar bench ddp starts it");
  Rank rank(argv[1]);
  const auto bound = [&](Json (Rank::*method)(const Words&)) {
    return [&rank, method](const Words& words) { return (rank.*method)(words); };
  };
  serve({{"reset", bound(&Rank::reset)}, {"losses", bound(&Rank::losses)}, {"run", bound(&Rank::run)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_ddp_worker", [&] { return serve_rank(argc, argv); });
}
