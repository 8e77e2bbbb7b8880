#pragma once
// The configuration of a run as plain values. What each key means stands in lessons/base.toml.
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/choices.h"
#include "config/fault.h"

namespace isobar {

struct DataConfig {
  std::string root;
  std::array<std::int64_t, 2> grid = {360, 720};  ///< rows, columns
  std::int64_t channels = 20;
  std::int64_t dt = 1;
  std::int64_t limit_train = 0;
  std::int64_t limit_valid = 0;
  bool shuffle = true;
  std::int64_t seed = 333;
  DataSource source = DataSource::files;
  std::int64_t throttle_mb_per_s = 0;
  std::int64_t workers = 4;
  std::int64_t prefetch = 2;
  bool pin_memory = true;
  bool persistent = true;
  std::string cpu_affinity = "none";
  ShardForm shard = ShardForm::strided;
  std::int64_t samples = 1000;
  double slope = 2;
  double intercept = 0.5;
  double noise = 0.1;
  std::int64_t read_group = 1;
};

struct LoaderConfig {
  LoaderKind kind = LoaderKind::in_line;
  std::int64_t slots = 3;
  bool copy_stream = true;
  NormalisedOn normalise = NormalisedOn::device;
  bool share_fields = true;
  UploadType upload_type = UploadType::f32;
};

struct ModelConfig {
  std::int64_t embed = 384;
  std::int64_t depth = 12;
  std::int64_t heads = 8;
  std::int64_t patch = 8;
  AttentionKind attention = AttentionKind::automatic;
  double slope = 0;
  double intercept = 2;
  NormKind norm = NormKind::layer;
  double buffers_mb = 0;
  double dropout = 0;
  std::int64_t window = 0;
  CheckpointKind checkpoint = CheckpointKind::none;
  std::int64_t checkpoint_every = 1;
};

struct OptimConfig {
  OptimizerKind name = OptimizerKind::adam;
  double lr = 5e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double clip_norm = 0;
  AdamKernel kernel = AdamKernel::own;
};

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::cosine;
  std::int64_t warmup_steps = 0;
  LrRule lr_rule = LrRule::none;
  std::int64_t base_batch = 16;
};

struct AmpConfig {
  AmpMode mode = AmpMode::automatic;
  double init_scale = 65536;
  double growth = 2;
  double backoff = 0.5;
  std::int64_t growth_interval = 2000;
  std::int64_t max_skips = 25;
  std::int64_t histogram_every = 0;
};

struct FusionConfig {
  bool adam = true;
  bool bias_gelu = true;
  bool residual_norm = true;
  bool qkv = true;
  bool head_loss = true;
  bool grad_norm = true;
};

struct GraphConfig {
  bool enabled = true;
  GraphScope scope = GraphScope::step;
  std::int64_t warmup = 20;
  bool collectives = true;
};

struct LinkConfig {
  double latency_us = 0;
  double gbit_per_s = 0;
};

struct CommConfig {
  BackendKind backend = BackendKind::automatic;
  SyncKind sync = SyncKind::buckets;
  double bucket_mb = 25;
  double first_bucket_mb = 1;
  bool overlap = true;
  bool broadcast_buffers = false;
  LinkConfig link;
  LinkConfig node_link;
  bool check = false;
  double timeout_s = 120;
  bool probe = true;
  std::int64_t hash_every = 100;
  std::string interface;
  BucketOrder bucket_order = BucketOrder::ready;
  bool bucket_view = true;
  CompressKind compress = CompressKind::none;
  std::int64_t compress_rank = 4;
  std::int64_t compress_start = 10;
  double compress_min_ratio = 2;
  bool error_feedback = true;
  bool warm_start = true;
  std::int64_t error_every = 0;
  Averaged average = Averaged::gradients;
  std::int64_t local_steps = 1;
  double outer_lr = 1;
  double outer_momentum = 0;
  AllReduceKind algorithm = AllReduceKind::ring;
  std::int64_t bench_bytes = 4194304;
};

/// Whether averaged weights are taken for a step to make; else they are taken as they are.
inline bool has_outer_step(const CommConfig& comm) { return comm.outer_lr != 1 || comm.outer_momentum != 0; }

struct MeshConfig {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t pp = 1;
  std::string order = "tp-cp-pp-dp";
  bool sequence_parallel = false;
  GradBits grad_dtype = GradBits::bits_16;
  std::int64_t zero = 0;
  std::int64_t shard = 0;
  GradBits gather_dtype = GradBits::bits_32;
  bool reshard = true;
  std::int64_t prefetch = 1;
  OffloadKind offload = OffloadKind::none;
  PipelineForm schedule = PipelineForm::one_f_one_b;
  std::int64_t chunks = 1;
  std::string schedule_file;
  std::vector<std::int64_t> stage_blocks;
  ContextForm cp_comm = ContextForm::gather;
  std::int64_t gpus_per_model = 0;
  std::int64_t gpus_per_ensemble = 0;
  std::int64_t members_per_device = 1;
};

struct TrainConfig {
  std::int64_t global_batch = 16;
  std::int64_t accumulate = 1;
  std::int64_t steps = 30000;
  std::int64_t seed = 1;
  std::int64_t report_every = 10;
  std::int64_t checkpoint_every = 0;
  std::int64_t keep_checkpoints = 2;
  std::int64_t noise_every = 0;
  std::int64_t rollout = 1;
  double member_noise = 0.1;
  double crps_alpha = 0.95;
  std::string resume;
  std::string init;
  std::string save_init;
};

struct RunConfig {
  std::string device = "auto";
  std::int64_t ranks = 1;
  std::int64_t threads = 0;
  std::string memory_cap;
  Determinism deterministic = Determinism::automatic;
  std::int64_t flush_ms = 200;
  Fault fault = Fault::none;
  std::int64_t fault_ms = 30;
  FaultStage fault_stage = FaultStage::load;
  std::int64_t fault_step = 0;
  std::int64_t fault_rank = 1;
  MeasureKind measure = MeasureKind::none;
  std::int64_t trace_steps = 200;
  std::int64_t profile_epoch = 4;
  std::string group;
  std::string point;
  std::int64_t repeat = 0;
};

struct Config {
  DataConfig data;
  LoaderConfig loader;
  ModelConfig model;
  OptimConfig optim;
  ScheduleConfig schedule;
  AmpConfig amp;
  FusionConfig fusion;
  GraphConfig graph;
  CommConfig comm;
  MeshConfig mesh;
  TrainConfig train;
  RunConfig run;
};

/// Checks what concerns several keys: grid and patch, embed and heads. `origins` says where a key was set;
/// without batches ranks have no samples to share.
void validate(const Config& config, const std::map<std::string, std::string>& origins,
              bool has_batches = true);

/// All keys with their values, as TOML that loads to the same configuration, to the last bit.
std::string to_toml(const Config& config);

/// Ranks that hold one model between them: mesh.tp x mesh.cp x mesh.pp.
std::int64_t ranks_of_model(const Config& config);

/// Models side by side, whose gradients are averaged: run.ranks / ranks_of_model.
std::int64_t models(const Config& config);

/// Models that forecast the same samples, with members of one ensemble each: mesh.gpus_per_ensemble /
/// ranks_of_model, 1 where mesh.gpus_per_ensemble = 0.
std::int64_t models_of_ensemble(const Config& config);

/// Members of the ensemble that forecasts a sample: mesh.members_per_device x models_of_ensemble.
std::int64_t members(const Config& config);

/// Models, or ensembles of models, each on samples of its own: models / models_of_ensemble.
std::int64_t replicas(const Config& config);

/// Ranks that hold one set of states between them: mesh.shard, or all replicas.
std::int64_t shard_ranks(const Config& config);

/// Samples that one model computes at a time: train.global_batch / replicas / train.accumulate, which
/// `validate` has found to be whole.
std::int64_t micro_batch(const Config& config);

/// data.root, or the folder of the embedded data set of this grid.
std::filesystem::path data_root(const DataConfig& config);

/// Version of the embedded data set; another version is another folder, so an old one is never taken for a
/// new one.
inline constexpr int kEmbeddedDataVersion = 1;

/// Folder of the embedded data set of a grid: <cache prefix>/data/fields-72x144-v1.
std::filesystem::path embedded_data_folder(std::int64_t rows, std::int64_t columns);

}  // namespace isobar
