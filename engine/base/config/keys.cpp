#include "config/keys.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "config/toml_text.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr double kManyValues = 1e15;  // counts beyond this are typing mistakes and would overflow products
constexpr double kMostLine = 1e6;     // for lines, whose squares are added up

Key text(const char* name, std::string& place) { return {name, &place}; }

template <Choice Enum>
Key choice(const char* name, Enum& place) {
  static_assert(sizeof(Enum) == 1);
  return {name, ChoicePlace{reinterpret_cast<unsigned char*>(&place), choices_of(place)}};
}

Key flag(const char* name, bool& place) { return {name, &place}; }

Key count(const char* name, std::int64_t& place, double least, double most = kManyValues) {
  return {name, &place, least, most};
}

Key number(const char* name, double& place, double least, double most, bool open_least, bool open_most) {
  return {name, &place, least, most, open_least, open_most};
}

std::string double_text(double value) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string out(digits.data(), end.ptr);
  if (std::isfinite(value) && out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

bool within(const Key& key, double value) {
  return std::isfinite(value) && (key.open_least ? value > key.least : value >= key.least) &&
         (key.open_most ? value < key.most : value <= key.most);
}

std::string range_text(const Key& key) {
  std::string out = fmt::format("{} {}", key.open_least ? "more than" : "at least", key.least);
  if (std::isfinite(key.most))
    out += fmt::format(" and {} {}", key.open_most ? "less than" : "at most", key.most);
  return out;
}

std::vector<Key> reading_keys(Config& c) {
  return {
      text("data.root", c.data.root),
      {"data.grid", &c.data.grid, 1, 100000},
      count("data.channels", c.data.channels, 1, 10000),
      count("data.dt", c.data.dt, 1, 1e6),
      count("data.limit_train", c.data.limit_train, 0),
      count("data.limit_valid", c.data.limit_valid, 0),
      flag("data.shuffle", c.data.shuffle),
      count("data.seed", c.data.seed, 0),
      choice("data.source", c.data.source),
      count("data.throttle_mb_per_s", c.data.throttle_mb_per_s, 0, 1e6),
      count("data.workers", c.data.workers, 0, 1024),
      count("data.prefetch", c.data.prefetch, 1, 1024),
      flag("data.pin_memory", c.data.pin_memory),
      flag("data.persistent", c.data.persistent),
      text("data.cpu_affinity", c.data.cpu_affinity),
      choice("data.shard", c.data.shard),
      count("data.samples", c.data.samples, 1, 1e7),
      number("data.slope", c.data.slope, -kMostLine, kMostLine, false, false),
      number("data.intercept", c.data.intercept, -kMostLine, kMostLine, false, false),
      number("data.noise", c.data.noise, 0, kMostLine, false, false),
      count("data.read_group", c.data.read_group, 1, 65536),
      choice("loader.kind", c.loader.kind),
      count("loader.slots", c.loader.slots, 1, 1024),
      flag("loader.copy_stream", c.loader.copy_stream),
      choice("loader.normalise", c.loader.normalise),
      flag("loader.share_fields", c.loader.share_fields),
      choice("loader.upload_type", c.loader.upload_type),
  };
}

std::vector<Key> computing_keys(Config& c) {
  return {
      count("model.embed", c.model.embed, 1, 1e6),
      count("model.depth", c.model.depth, 1, 10000),
      count("model.heads", c.model.heads, 1, 10000),
      count("model.patch", c.model.patch, 1, 10000),
      choice("model.attention", c.model.attention),
      number("model.slope", c.model.slope, -kMostLine, kMostLine, false, false),
      number("model.intercept", c.model.intercept, -kMostLine, kMostLine, false, false),
      choice("model.norm", c.model.norm),
      number("model.buffers_mb", c.model.buffers_mb, 0, 1e5, false, false),
      number("model.dropout", c.model.dropout, 0, 1, false, true),
      count("model.window", c.model.window, 0, 1e6),
      choice("model.checkpoint", c.model.checkpoint),
      count("model.checkpoint_every", c.model.checkpoint_every, 1, 10000),
      choice("optim.name", c.optim.name),
      number("optim.lr", c.optim.lr, 0, 1e6, true, false),
      number("optim.beta1", c.optim.beta1, 0, 1, false, true),
      number("optim.beta2", c.optim.beta2, 0, 1, false, true),
      number("optim.eps", c.optim.eps, 0, 1, true, false),
      number("optim.clip_norm", c.optim.clip_norm, 0, 1e9, false, false),
      choice("optim.kernel", c.optim.kernel),
      choice("schedule.kind", c.schedule.kind),
      count("schedule.warmup_steps", c.schedule.warmup_steps, 0),
      choice("schedule.lr_rule", c.schedule.lr_rule),
      count("schedule.base_batch", c.schedule.base_batch, 1, 1e9),
      choice("amp.mode", c.amp.mode),
      number("amp.init_scale", c.amp.init_scale, 0, 1e30, true, false),
      number("amp.growth", c.amp.growth, 1, 1e6, false, false),
      number("amp.backoff", c.amp.backoff, 0, 1, true, true),
      count("amp.growth_interval", c.amp.growth_interval, 1),
      count("amp.max_skips", c.amp.max_skips, 1),
      count("amp.histogram_every", c.amp.histogram_every, 0),
      flag("fusion.adam", c.fusion.adam),
      flag("fusion.bias_gelu", c.fusion.bias_gelu),
      flag("fusion.residual_norm", c.fusion.residual_norm),
      flag("fusion.qkv", c.fusion.qkv),
      flag("fusion.head_loss", c.fusion.head_loss),
      flag("fusion.grad_norm", c.fusion.grad_norm),
      flag("graph.enabled", c.graph.enabled),
      choice("graph.scope", c.graph.scope),
      count("graph.warmup", c.graph.warmup, 1, 10000),
      flag("graph.collectives", c.graph.collectives),
  };
}

std::vector<Key> communicating_keys(Config& c) {
  return {
      choice("comm.backend", c.comm.backend),
      choice("comm.sync", c.comm.sync),
      number("comm.bucket_mb", c.comm.bucket_mb, 0, 1e6, true, false),
      number("comm.first_bucket_mb", c.comm.first_bucket_mb, 0, 1e6, true, false),
      choice("comm.bucket_order", c.comm.bucket_order),
      flag("comm.bucket_view", c.comm.bucket_view),
      flag("comm.overlap", c.comm.overlap),
      flag("comm.broadcast_buffers", c.comm.broadcast_buffers),
      number("comm.link.latency_us", c.comm.link.latency_us, 0, 1e6, false, false),
      number("comm.link.gbit_per_s", c.comm.link.gbit_per_s, 0, 10, false, false),
      number("comm.node_link.latency_us", c.comm.node_link.latency_us, 0, 1e6, false, false),
      number("comm.node_link.gbit_per_s", c.comm.node_link.gbit_per_s, 0, 10, false, false),
      flag("comm.check", c.comm.check),
      number("comm.timeout_s", c.comm.timeout_s, 0, 86400, true, false),
      flag("comm.probe", c.comm.probe),
      count("comm.hash_every", c.comm.hash_every, 0),
      text("comm.interface", c.comm.interface),
      choice("comm.compress", c.comm.compress),
      count("comm.compress_rank", c.comm.compress_rank, 1, 1e6),
      count("comm.compress_start", c.comm.compress_start, 0),
      number("comm.compress_min_ratio", c.comm.compress_min_ratio, 0, 1e6, false, false),
      flag("comm.error_feedback", c.comm.error_feedback),
      flag("comm.warm_start", c.comm.warm_start),
      count("comm.error_every", c.comm.error_every, 0),
      choice("comm.average", c.comm.average),
      count("comm.local_steps", c.comm.local_steps, 1),
      number("comm.outer_lr", c.comm.outer_lr, 0, 10, true, false),
      number("comm.outer_momentum", c.comm.outer_momentum, 0, 1, false, true),
      choice("comm.algorithm", c.comm.algorithm),
      count("comm.bench_bytes", c.comm.bench_bytes, 4, 1e10),
      count("mesh.tp", c.mesh.tp, 1, 65536),
      count("mesh.cp", c.mesh.cp, 1, 65536),
      choice("mesh.cp_comm", c.mesh.cp_comm),
      count("mesh.pp", c.mesh.pp, 1, 65536),
      text("mesh.order", c.mesh.order),
      flag("mesh.sequence_parallel", c.mesh.sequence_parallel),
      choice("mesh.grad_dtype", c.mesh.grad_dtype),
      count("mesh.zero", c.mesh.zero, 0, 3),
      count("mesh.shard", c.mesh.shard, 0, 65536),
      choice("mesh.gather_dtype", c.mesh.gather_dtype),
      flag("mesh.reshard", c.mesh.reshard),
      count("mesh.prefetch", c.mesh.prefetch, 0, 64),
      choice("mesh.offload", c.mesh.offload),
      choice("mesh.schedule", c.mesh.schedule),
      count("mesh.chunks", c.mesh.chunks, 1, 1024),
      text("mesh.schedule_file", c.mesh.schedule_file),
      {"mesh.stage_blocks", &c.mesh.stage_blocks, 1, 65536},
      count("mesh.gpus_per_model", c.mesh.gpus_per_model, 0, 65536),
      count("mesh.gpus_per_ensemble", c.mesh.gpus_per_ensemble, 0, 65536),
      count("mesh.members_per_device", c.mesh.members_per_device, 1, 1024),
  };
}

std::vector<Key> running_keys(Config& c) {
  return {
      count("train.global_batch", c.train.global_batch, 1, 1e9),
      count("train.accumulate", c.train.accumulate, 1, 1e6),
      count("train.steps", c.train.steps, 1),
      count("train.seed", c.train.seed, 0),
      count("train.report_every", c.train.report_every, 1),
      count("train.checkpoint_every", c.train.checkpoint_every, 0),
      count("train.keep_checkpoints", c.train.keep_checkpoints, 1, 1e6),
      count("train.noise_every", c.train.noise_every, 0),
      count("train.rollout", c.train.rollout, 1, 1000),
      number("train.member_noise", c.train.member_noise, 0, 100, false, false),
      number("train.crps_alpha", c.train.crps_alpha, 0, 1, false, false),
      text("train.resume", c.train.resume),
      text("train.init", c.train.init),
      text("train.save_init", c.train.save_init),
      text("run.device", c.run.device),
      count("run.ranks", c.run.ranks, 1, 65536),
      count("run.threads", c.run.threads, 0, 4096),
      text("run.memory_cap", c.run.memory_cap),
      choice("run.deterministic", c.run.deterministic),
      count("run.flush_ms", c.run.flush_ms, 1, 60000),
      choice("run.fault", c.run.fault),
      count("run.fault_ms", c.run.fault_ms, 0, 60000),
      choice("run.fault_stage", c.run.fault_stage),
      count("run.fault_step", c.run.fault_step, 0),
      count("run.fault_rank", c.run.fault_rank, 0, 65536),
      choice("run.measure", c.run.measure),
      count("run.trace_steps", c.run.trace_steps, 0, 1e6),
      count("run.profile_epoch", c.run.profile_epoch, 0),
      text("run.group", c.run.group),
      text("run.point", c.run.point),
      count("run.repeat", c.run.repeat, 0, 1e6),
  };
}

}  // namespace

std::vector<Key> keys_of(Config& config) {
  std::vector<Key> keys = reading_keys(config);
  for (Key& key : computing_keys(config)) keys.push_back(std::move(key));
  for (Key& key : communicating_keys(config)) keys.push_back(std::move(key));
  for (Key& key : running_keys(config)) keys.push_back(std::move(key));
  return keys;
}

bool same_value(const KeyPlace& one, const KeyPlace& other) {
  return std::visit(
      [&](const auto& place) {
        const auto* const same_type = std::get_if<std::decay_t<decltype(place)>>(&other);
        return same_type != nullptr && **same_type == *place;
      },
      one);
}

std::string toml_value(const KeyPlace& place) {
  struct Text {
    std::string operator()(const std::string* value) const { return toml_string(*value); }
    std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
    std::string operator()(const std::int64_t* value) const { return std::to_string(*value); }
    std::string operator()(const double* value) const { return double_text(*value); }
    std::string operator()(const std::array<std::int64_t, 2>* value) const {
      return fmt::format("[{}, {}]", (*value)[0], (*value)[1]);
    }
    std::string operator()(const std::vector<std::int64_t>* value) const {
      return "[" + joined(*value) + "]";
    }
    std::string operator()(const ChoicePlace& choice) const { return toml_string(choice.name()); }
  };
  return std::visit(Text{}, place);
}

std::string type_name(const KeyPlace& place) {
  static constexpr std::array<const char*, 7> kNames = {"a string",
                                                        "true or false",
                                                        "an integer",
                                                        "a number",
                                                        "two integers, such as [72, 144]",
                                                        "integers, such as [3, 1]",
                                                        "a string"};
  return kNames[place.index()];
}

std::string violation(const Key& key) {
  bool good = true;
  if (const auto* const integer = std::get_if<std::int64_t*>(&key.place)) {
    good = within(key, static_cast<double>(**integer));
  } else if (const auto* const real = std::get_if<double*>(&key.place)) {
    good = within(key, **real);
  } else if (const auto* const pair = std::get_if<std::array<std::int64_t, 2>*>(&key.place)) {
    good = within(key, static_cast<double>((**pair)[0])) && within(key, static_cast<double>((**pair)[1]));
  } else if (const auto* const list = std::get_if<std::vector<std::int64_t>*>(&key.place)) {
    for (const std::int64_t value : **list) good = good && within(key, static_cast<double>(value));
  }
  return good ? "" : range_text(key);
}

}  // namespace isobar
