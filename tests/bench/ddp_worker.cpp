// One rank of the step of `bench ddp`, `compress`, `zero`, `pipeline` and `context`. Usage:
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

#include "bench/ddp_replicas.h"
#include "bench/serve.h"
#include "bench/worker_data.h"
#include "comm/comm.h"
#include "core/error.h"
#include "core/files.h"
#include "data/loader.h"
#include "device/device.h"
#include "model/vit.h"
#include "support/named.h"
#include "train/weights.h"

using namespace isobar;
using namespace isobar::bench;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

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
  /// pipeline SCHEDULE PARTS CHUNKS: cut by depth. reset fused BACKEND buckets context WAY: with tokens that
  /// are shared out, by mesh.cp_comm.
  Json reset(const Words& words) {
    CommConfig config;
    config.backend = testing::named<BackendKind>(words.at(1));
    config.sync = testing::named<SyncKind>(words.at(2));
    const std::string form = words.size() > 3 ? words.at(3) : "0";
    config.timeout_s = 60;
    config.probe = false;
    if (config.backend == BackendKind::gloo) config.interface = std::getenv("GLOO_SOCKET_IFNAME");
    const bool is_whole = form == "pipeline" || form == "zero" || form == "context";
    if (!is_whole && form != "0") {
      config.compress = CompressKind::powersgd;
      config.compress_rank = std::stoi(form);
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
    if (is_whole) {
      step_ = one_model(config, words, comm);
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
  std::function<at::Tensor(const Batch&)> one_model(const CommConfig& comm_config, const Words& words,
                                                    Comm& comm) const {
    Config whole = sizes();
    whole.optim = optim_;
    whole.comm = comm_config;
    if (words.at(3) == "pipeline") {
      set_pipeline(whole, words);
      return steps_of(std::make_shared<StagedReplica>(shape_, whole, weights_, comm));
    }
    if (words.at(3) == "context") {
      whole.mesh.cp = environment_.world;
      whole.mesh.cp_comm = testing::named<ContextForm>(words.at(4));
      return steps_of(std::make_shared<TokenReplica>(shape_, whole, weights_, comm));
    }
    whole.mesh.zero = std::stoi(words.at(4));
    return steps_of(std::make_shared<ShardedReplica>(shape_, whole, weights_, comm));
  }

  Config sizes() const {
    Config config;
    config.data.grid = {shape_.height, shape_.width};
    config.data.channels = shape_.channels;
    config.model.embed = shape_.embed;
    config.model.depth = shape_.depth;
    config.model.heads = shape_.heads;
    config.model.patch = shape_.patch;
    config.run.ranks = environment_.world;
    return config;
  }

  void set_pipeline(Config& config, const Words& words) const {
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
