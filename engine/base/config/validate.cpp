#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "config/check_groups.h"
#include "config/check_stages.h"
#include "config/load.h"
#include "config/origins.h"
#include "config/samples.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parse_bytes.h"
#include "core/text.h"

namespace isobar {
namespace {

void check_measure(const Config& config, const Origins& origins) {
  if (config.run.measure == MeasureKind::none) return;
  if (config.run.measure == MeasureKind::io && config.data.source == DataSource::synthetic) {
    throw Error("run.measure = io reads batches, and with data.source = synthetic there is nothing to read",
                origin_of(origins, {"data.source", "run.measure"}), "data.source=files, or memory");
  }
}

/// A fault of threads that read, in a run that has too few of them, would do nothing.
void check_fault_threads(const Config& config, const Origins& origins) {
  const Fault fault = config.run.fault;
  const bool of_threads = fault == Fault::slow_worker || fault == Fault::respawn;
  const std::int64_t least = fault == Fault::same_seed_workers ? 2 : of_threads ? 1 : 0;
  if (config.data.workers >= least) return;
  throw Error(fmt::format("the fault {} would do nothing with {}", name_of(fault),
                          counted(config.data.workers, "worker")),
              origin_of(origins, {"data.workers", "run.fault"}),
              fmt::format("data.workers={} or more", least));
}

/// Whole models, and whole heads on each rank of one.
void check_mesh(const Config& config, const Origins& origins) {
  const std::int64_t tp = config.mesh.tp, model = ranks_of_model(config);
  if (config.run.ranks % model != 0) {
    const std::string product = config.mesh.gpus_per_model > 0               ? "a mesh.gpus_per_model"
                                : config.mesh.cp == 1 && config.mesh.pp == 1 ? "a mesh.tp"
                                                                             : "mesh.tp x mesh.cp x mesh.pp";
    throw Error(
        fmt::format("{} cannot form models of {} ranks each", counted(config.run.ranks, "rank"), model),
        origin_of(origins, {"mesh.gpus_per_model", "mesh.cp", "mesh.pp", "mesh.tp", "run.ranks"}),
        fmt::format("--ranks {}, or {} that divides the number of ranks",
                    std::max(model, nearest_multiple(config.run.ranks, model)), product));
  }
  if (config.model.heads % tp != 0) {
    throw Error(fmt::format("{} heads cannot be shared out over mesh.tp = {} ranks", config.model.heads, tp),
                origin_of(origins, {"mesh.tp", "model.heads"}),
                fmt::format("a mesh.tp that divides model.heads = {}", config.model.heads));
  }
  if (tp > 1 && config.model.norm == NormKind::batch) {
    throw Error(
        "a norm over the batch is not made for split layers: ranks of one model would each move "
        "running means of their own",
        origin_of(origins, {"model.norm", "mesh.tp"}), "model.norm=layer, or mesh.tp=1");
  }
  if (tp == 1 && config.mesh.sequence_parallel) {
    throw Error("mesh.sequence_parallel shares out the tokens among the ranks of one model, and mesh.tp is 1",
                origin_of(origins, {"mesh.sequence_parallel"}), "mesh.tp=2, or leave it out");
  }
}

/// With mesh.sequence_parallel each rank of a model keeps as many tokens of a batch as the others.
void check_token_shares(const Config& config, const Origins& origins) {
  const std::int64_t patch = config.model.patch;
  const std::int64_t tokens =
      micro_batch(config) * (config.data.grid[0] / patch) * (config.data.grid[1] / patch);
  if (!config.mesh.sequence_parallel || tokens % config.mesh.tp == 0) return;
  throw Error(fmt::format("the {} tokens of {} samples cannot be shared out evenly over mesh.tp = {} ranks",
                          tokens, micro_batch(config), config.mesh.tp),
              origin_of(origins, {"mesh.sequence_parallel", "mesh.tp", "train.global_batch"}),
              "another train.global_batch, or mesh.sequence_parallel=false");
}

/// What is averaged behind a replay leaves in one piece, and the update follows it.
void check_graph(const Config& config, const Origins& origins) {
  if (config.graph.collectives || !config.graph.enabled || config.run.ranks == 1) return;
  const auto refuse = [&](const char* key, const std::string& what, const std::string& hint) {
    throw Error("with graph.collectives = false gradients are averaged behind each replay: " + what,
                origin_of(origins, {key, "graph.collectives"}), hint);
  };
  if (ranks_of_model(config) > 1)
    refuse("mesh.tp", "the ranks of one model send each other something within it", "mesh.tp=1");
  if (config.graph.scope == GraphScope::step)
    refuse("graph.scope", "the update comes later, and cannot be recorded with the rest",
           "graph.scope=model");
  if (config.comm.sync != SyncKind::at_end && config.comm.sync != SyncKind::none)
    refuse("comm.sync", "nothing can leave during backward", "comm.sync=at_end");
}

/// What is compressed travels in buckets, and weights are averaged whole.
void check_compression(const Config& config, const Origins& origins) {
  const CommConfig& comm = config.comm;
  const auto refuse = refuser(origins);
  if (comm.compress != CompressKind::none && comm.average == Averaged::weights)
    refuse("comm.compress", "comm.average",
           "comm.compress is for gradients, and comm.average = weights sends none",
           "comm.average=gradients, or comm.compress=none");
  if (comm.compress != CompressKind::none && comm.sync != SyncKind::buckets)
    refuse("comm.compress", "comm.sync", "comm.compress is for buckets, and comm.sync is another",
           "comm.sync=buckets, or comm.compress=none");
  if (comm.compress != CompressKind::none && !comm.bucket_view)
    refuse("comm.compress", "comm.bucket_view",
           "what is compressed travels in messages of its own, never in copies of gradients",
           "comm.bucket_view=true, or comm.compress=none");
  if (is_low_rank(comm.compress) && config.amp.mode == AmpMode::fp16)
    refuse(
        "comm.compress", "amp.mode",
        "what compression leaves out would be added to gradients of another loss scale, which fp16 changes",
        "amp.mode=bf16, or comm.compress=none");
  if (comm.average == Averaged::weights && config.train.checkpoint_every % comm.local_steps != 0)
    refuse("train.checkpoint_every", "comm.local_steps",
           "a checkpoint between two averages would hold the weights of one rank",
           "a train.checkpoint_every that comm.local_steps divides");
  const bool is_local = comm.local_steps != 1 || has_outer_step(comm);
  if (is_local && comm.average == Averaged::gradients)
    refuse("comm.local_steps", "comm.average",
           "comm.local_steps, comm.outer_lr and comm.outer_momentum are for averages of weights",
           "comm.average=weights");
}

/// Noise is what a mean over ranks takes out of a gradient.
void check_noise(const Config& config, const Origins& origins) {
  if (config.train.noise_every == 0) return;
  if (models(config) == 1)
    throw Error(
        "train.noise_every compares gradients of two batches, a rank's and that of all ranks, and here both "
        "are one",
        origin_of(origins, {"train.noise_every", "run.ranks"}), "--ranks 2, or train.noise_every=0");
  if (config.comm.sync == SyncKind::none)
    throw Error(
        "train.noise_every compares gradients in front of their average and behind it, and comm.sync = none "
        "makes none",
        origin_of(origins, {"comm.sync", "train.noise_every"}), "comm.sync=buckets, or train.noise_every=0");
}

/// The variance over one token is none.
void check_norm(const Config& config, const Origins& origins) {
  const std::int64_t patch = config.model.patch;
  const std::int64_t tokens = config.data.grid[0] / patch * (config.data.grid[1] / patch);
  if (config.model.norm != NormKind::batch || micro_batch(config) * tokens > 1) return;
  throw Error("a norm over the batch needs more than one token, and here a rank has one sample of one patch",
              origin_of(origins, {"model.norm", "model.patch", "train.global_batch"}),
              "a larger batch, a smaller model.patch, or model.norm=layer");
}

/// Whole groups of ranks share states, and what a key is for is there.
void check_shares(const Config& config, const Origins& origins) {
  const MeshConfig& mesh = config.mesh;
  const std::int64_t sharing = models(config);
  const auto refuse = refuser(origins);
  if (mesh.shard > 0 && sharing % mesh.shard != 0)
    refuse("mesh.shard", "run.ranks",
           fmt::format("{} cannot form groups of {} that share their states", counted(sharing, "replica"),
                       mesh.shard),
           fmt::format("a mesh.shard that divides {}, or 0 for all", sharing));
  if (mesh.offload != OffloadKind::none && mesh.zero == 0)
    refuse("mesh.offload", "mesh.zero",
           "mesh.offload moves states that are shared out, and mesh.zero = 0 shares none",
           "mesh.zero=1 or more, or mesh.offload=none");
  if (mesh.offload == OffloadKind::weights && mesh.zero < 3)
    refuse("mesh.offload", "mesh.zero",
           fmt::format("with mesh.zero = {} each rank needs all weights, so none can lie in host memory",
                       mesh.zero),
           "mesh.zero=3, or mesh.offload=optimizer");
  if (mesh.gather_dtype == GradBits::bits_16 && mesh.zero > 0 && config.amp.mode == AmpMode::none)
    refuse("mesh.gather_dtype", "amp.mode",
           "mesh.gather_dtype = 16 gathers weights in the type of amp.mode, which has none",
           "amp.mode=bf16, or mesh.gather_dtype=32");
  if (mesh.zero > 0 && config.comm.average == Averaged::weights)
    refuse("mesh.zero", "comm.average", "ranks that share their states cannot train apart",
           "comm.average=gradients, or mesh.zero=0");
  if (config.optim.name == OptimizerKind::muon && mesh.tp > 1)
    refuse("optim.name", "mesh.tp",
           "Muon needs whole matrices, and with mesh.tp each rank has pieces of them",
           "optim.name=adam, or mesh.tp=1");
  if (config.optim.name == OptimizerKind::muon && mesh.offload != OffloadKind::none)
    refuse("mesh.offload", "optim.name",
           "Muon multiplies matrices on the device, and mesh.offload updates on the host",
           "optim.name=adam, or mesh.offload=none");
  const LinkConfig& node = config.comm.node_link;
  if ((node.gbit_per_s > 0 || node.latency_us > 0) && config.comm.link.gbit_per_s == 0)
    refuse("comm.node_link.gbit_per_s", "comm.link.gbit_per_s",
           "a link inside the node is emulated beside one between nodes, and comm.link is none",
           "comm.link.gbit_per_s=1");
}

/// What is computed again lies within the model.
void check_checkpoint(const Config& config, const Origins& origins) {
  const ModelConfig& model = config.model;
  if (model.checkpoint_every > model.depth)
    throw Error(fmt::format("{} blocks cannot be computed again together, the model has {}",
                            model.checkpoint_every, model.depth),
                origin_of(origins, {"model.checkpoint_every", "model.depth"}),
                fmt::format("model.checkpoint_every from 1 to {}", model.depth));
  if (model.checkpoint_every > 1 && model.checkpoint != CheckpointKind::block)
    throw Error(fmt::format("model.checkpoint_every is for model.checkpoint = block, and it is {}",
                            name_of(model.checkpoint)),
                origin_of(origins, {"model.checkpoint_every", "model.checkpoint"}),
                "model.checkpoint=block, or model.checkpoint_every=1");
  if (model.dropout > 0 && config.mesh.tp > 1)
    throw Error("each rank of a model would drop other values of what all of them have",
                origin_of(origins, {"model.dropout", "mesh.tp"}), "model.dropout=0, or mesh.tp=1");
  if (model.checkpoint != CheckpointKind::none && model.norm == NormKind::batch)
    throw Error("a norm over the batch that is computed again would move its running means twice",
                origin_of(origins, {"model.norm", "model.checkpoint"}),
                "model.norm=layer, or model.checkpoint=none");
}

/// Buffers are of float32.
void check_bench(const Config& config, const Origins& origins) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t bytes = config.comm.bench_bytes;
  if (bytes % kFloat == 0) return;
  throw Error(fmt::format("{} bytes are no whole number of float32 values", bytes),
              origin_of(origins, {"comm.bench_bytes"}),
              fmt::format("a multiple of {}, such as {}", kFloat, (bytes / kFloat + 1) * kFloat));
}

/// Who has samples of its own: "4 ranks", "4 models of 2 ranks" or "2 ensembles of 4 ranks".
std::string sample_readers(const Config& config) {
  const std::int64_t of_one = config.run.ranks / replicas(config);
  if (of_one == 1) return counted(config.run.ranks, "rank");
  return fmt::format("{} of {} ranks",
                     counted(replicas(config), models_of_ensemble(config) > 1 ? "ensemble" : "model"),
                     of_one);
}

/// What each rank computes at a time must be the same whole number of samples.
void check_micro_batch(const Config& config, const Origins& origins) {
  const std::int64_t parts = replicas(config) * config.train.accumulate;
  if (config.train.global_batch % parts == 0) return;
  const std::string readers = sample_readers(config);
  const std::string way = config.train.accumulate == 1
                              ? readers
                              : fmt::format("{} x {} backward passes", readers, config.train.accumulate);
  throw Error(
      fmt::format("a batch of {} samples cannot be divided over {}", config.train.global_batch, way),
      origin_of(origins, {"train.global_batch", "run.ranks", "train.accumulate"}),
      fmt::format("for example train.global_batch = {}", nearest_multiple(config.train.global_batch, parts)));
}

}  // namespace

std::int64_t ranks_of_model(const Config& config) { return config.mesh.tp * config.mesh.cp * config.mesh.pp; }

// One at least, for configurations that nobody validated, such as a run's that was changed by hand.
std::int64_t models(const Config& config) {
  return std::max<std::int64_t>(1, config.run.ranks / ranks_of_model(config));
}

std::int64_t models_of_ensemble(const Config& config) {
  return std::max<std::int64_t>(1, config.mesh.gpus_per_ensemble / ranks_of_model(config));
}

std::int64_t members(const Config& config) {
  return config.mesh.members_per_device * models_of_ensemble(config);
}

std::int64_t replicas(const Config& config) {
  return std::max<std::int64_t>(1, models(config) / models_of_ensemble(config));
}

std::int64_t shard_ranks(const Config& config) {
  return config.mesh.shard > 0 ? config.mesh.shard : models(config);
}

std::int64_t micro_batch(const Config& config) {
  return config.train.global_batch / (replicas(config) * config.train.accumulate);
}

void validate(const Config& config, const Origins& origins, bool has_batches) {
  const std::int64_t patch = config.model.patch;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t pixels = config.data.grid[side];
    if (pixels % patch == 0) continue;
    throw Error(fmt::format("the image has {} {}, which patches of {} do not divide", pixels,
                            side == 0 ? "rows" : "columns", patch),
                origin_of(origins, {"data.grid", "model.patch"}),
                fmt::format("for example {}, or another model.patch", nearest_multiple(pixels, patch)));
  }
  if (config.model.embed % config.model.heads != 0) {
    throw Error(fmt::format("model.embed {} cannot be split into {} equal heads", config.model.embed,
                            config.model.heads),
                origin_of(origins, {"model.embed", "model.heads"}),
                fmt::format("for example model.embed = {}",
                            nearest_multiple(config.model.embed, config.model.heads)));
  }
  check_mesh(config, origins);
  check_groups(config, origins);
  check_stages(config, origins);
  if (has_batches) check_micro_batch(config, origins);
  check_token_shares(config, origins);
  check_graph(config, origins);
  check_compression(config, origins);
  check_noise(config, origins);
  check_norm(config, origins);
  check_shares(config, origins);
  check_checkpoint(config, origins);
  check_bench(config, origins);
  if (!config.run.memory_cap.empty())
    parse_bytes(config.run.memory_cap, origin_of(origins, {"run.memory_cap"}));
  check_measure(config, origins);
  check_fault_threads(config, origins);
}

void check_enough_samples(const LoadedConfig& loaded) {
  const Config& config = loaded.config;
  const std::int64_t parts = replicas(config);
  if (parts == 1 || config.data.source == DataSource::synthetic) return;
  struct Split {
    const char* name;
    const char* key;
    std::int64_t limit;
    std::int64_t batch;  ///< a rank's
  };
  const std::int64_t batch = micro_batch(config);
  for (const Split& split :
       {Split{"training", "data.limit_train", config.data.limit_train, batch * config.train.accumulate},
        Split{"validation", "data.limit_valid", config.data.limit_valid, batch}}) {
    if (split.limit == 0 || split.limit / parts >= split.batch) continue;
    throw Error(
        fmt::format("{} with {} {} sample{} each want {}, and {} allows {}", sample_readers(config),
                    split.batch, split.name, split.batch == 1 ? "" : "s", parts * split.batch, split.key,
                    split.limit),
        origin_of(loaded.origins, {split.key, "run.ranks"}),
        fmt::format("fewer ranks, or {}={} or more (0 = all there are)", split.key, parts * split.batch));
  }
}

std::filesystem::path embedded_data_folder(std::int64_t rows, std::int64_t columns) {
  return cache_prefix() / "data" / fmt::format("fields-{}x{}-v{}", rows, columns, kEmbeddedDataVersion);
}

std::filesystem::path data_root(const DataConfig& config) {
  return config.root.empty() ? embedded_data_folder(config.grid[0], config.grid[1])
                             : std::filesystem::path(config.root);
}

}  // namespace isobar
