#include "formula/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/cpu_instructions.h"
#include "core/error.h"
#include "core/parse_bytes.h"
#include "core/text.h"
#include "formula/compression.h"
#include "formula/model_shape.h"
#include "formula/vit_memory.h"
#include "launch/mesh.h"

namespace isobar {
namespace {

constexpr std::int64_t kMostRanks = 4096;    // the largest that a suggestion tries
constexpr std::int64_t kMostPasses = 65536;  // for train.accumulate, likewise

/// Measured with a model of nothing (tests/lessons); of a CUDA device what its context and libraries usually
/// take.
constexpr std::uint64_t kProgramBytes = 69'000'000;
constexpr std::uint64_t kCudaProgramBytes = 1'500'000'000;

/// What kernels of 16 bits of a CPU keep for themselves, measured as well.
constexpr std::uint64_t kHalfKernelBytes = 22'000'000;

/// The largest block that comes from the heap of the C library (device/device.cpp), and the pages of slots.
constexpr std::uint64_t kLargestInHeap = std::uint64_t{32} << 20;
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

/// Slots that the loader of training and the one of validation fill each; 0 = they make batch after batch.
std::uint64_t slots_of(const Config& config) {
  const DataConfig& data = config.data;
  const auto ahead = static_cast<std::uint64_t>(data.workers * data.prefetch);
  if (config.loader.kind == LoaderKind::gpu) return static_cast<std::uint64_t>(config.loader.slots);
  return config.loader.kind == LoaderKind::workers && data.workers > 0 ? ahead + 1 : 0;  // one is in use
}

/// Bytes of the data on the device that trains. On a CUDA device the batch in use and, of the pipeline, two
/// ahead of it and the raw fields of one that is arriving. On a CPU the batch in use, or the slots of both
/// loaders, which take whole huge pages (core/large_memory.h) and of which validation makes no more than it
/// has batches; and the climatologies of both data sets.
std::uint64_t data_bytes(const Config& config, bool on_cuda) {
  const auto field_bytes =
      static_cast<std::uint64_t>(config.data.channels * config.data.grid[0] * config.data.grid[1]) *
      sizeof(float);
  const auto samples = static_cast<std::uint64_t>(micro_batch(config));
  const std::uint64_t batch = 2 * samples * field_bytes;
  if (on_cuda) return (config.loader.kind == LoaderKind::gpu ? 5 : 2) * batch;
  const std::uint64_t slots = slots_of(config), climatologies = 2 * field_bytes;
  if (slots == 0) return batch + climatologies;
  const auto valid = static_cast<std::uint64_t>(config.data.limit_valid);
  const std::uint64_t of_validation = valid > 0 ? std::min(slots, valid / samples) : slots;
  const std::uint64_t slot = (batch + kHugePage - 1) / kHugePage * kHugePage;
  return (slots + of_validation) * slot + climatologies;
}

/// float32 copies of what the largest operation takes and gives: the gradient of attention (q, k, v, out and
/// its gradient, and three more), of a linear layer of the MLP, or of the head.
std::uint64_t widened_bytes(const Config& config) {
  const VitShape shape = vit_shape(config);
  const std::int64_t embed = shape.embed, tp = config.mesh.tp;
  const std::int64_t values_a_token =
      std::max({8 * embed / tp, embed + 4 * embed / tp, embed + shape.channels * shape.patch * shape.patch});
  const std::int64_t weights = embed * std::max(4 * embed / tp, shape.channels * shape.patch * shape.patch);
  return static_cast<std::uint64_t>(micro_batch(config) * shape.tokens() * values_a_token + weights) *
         sizeof(float);
}

/// softmax(q k^T) of every head of this rank, sample and block, [N, N].
std::uint64_t attention_matrix_bytes(const Config& config) {
  const VitShape shape = vit_shape(config);
  const std::int64_t matrices = micro_batch(config) * shape.depth * shape.heads / config.mesh.tp;
  return static_cast<std::uint64_t>(matrices * shape.tokens() * shape.tokens()) * sizeof(float);
}

/// What plain Adam adds to the peak of the backward pass. It works when activations are gone. On a CUDA
/// device it takes their place. On a CPU the heap keeps their place, and has a block so large where what they
/// left is as large; one that is too large for the heap is mapped beside it.
std::uint64_t update_bytes(const TrainingBytes& bytes, bool on_cuda) {
  if (on_cuda) return bytes.total() - bytes.state() - bytes.activations - bytes.working;
  return bytes.update <= std::min(bytes.activations, kLargestInHeap) ? 0 : bytes.update;
}

/// What averaging keeps beside gradients and weights: messages, errors of compression, the outer optimiser.
std::uint64_t averaging_bytes(const Config& config, std::uint64_t gradients) {
  const CommConfig& comm = config.comm;
  if (is_16_bit(comm.compress)) return gradients / 2;
  if (is_low_rank(comm.compress)) {
    // Errors, and factors: once in the state, once in messages. A measurement has a copy of the errors.
    const std::vector<GradientMatrix> matrices = gradient_matrices(vit_shape(config), config.fusion.qkv);
    const auto sent = static_cast<std::uint64_t>(bytes_a_step(planned_messages(matrices, comm)));
    return (comm.error_every > 0 ? 2 : 1) * gradients + 2 * sent;
  }
  if (config.run.ranks == 1) return 0;
  if (comm.average == Averaged::weights) return has_outer_step(comm) ? 2 * gradients : 0;
  return comm.sync == SyncKind::buckets && !comm.bucket_view ? gradients : 0;
}

/// What acts in the lesson: a key that it does not honour leaves its piece plain.
Config as_honoured(const LessonInfo& lesson, Config config) {
  FusionConfig& fusion = config.fusion;
  for (const auto& [key, value] : {std::pair{"fusion.adam", &fusion.adam},
                                   {"fusion.residual_norm", &fusion.residual_norm},
                                   {"fusion.qkv", &fusion.qkv},
                                   {"fusion.head_loss", &fusion.head_loss}})
    *value = *value && honours(lesson, key);
  if (!honours(lesson, "comm.sync")) config.comm.sync = SyncKind::none;
  config.comm.probe = config.comm.probe && honours(lesson, "comm.probe");
  return config;
}

/// One setting that differs, and how it is typed.
struct Change {
  std::string key;
  std::string typed;
};

std::vector<Change> changes_between(const Config& from, const Config& to) {
  std::vector<Change> out;
  if (to.run.ranks != from.run.ranks) out.push_back({"run.ranks", fmt::format("--ranks {}", to.run.ranks)});
  const auto set = [&](const char* key, const auto& before, const auto& after) {
    if (after != before) out.push_back({key, fmt::format("--set {}={}", key, after)});
  };
  set("mesh.tp", from.mesh.tp, to.mesh.tp);
  set("mesh.sequence_parallel", from.mesh.sequence_parallel, to.mesh.sequence_parallel);
  set("train.accumulate", from.train.accumulate, to.train.accumulate);
  return out;
}

std::string change_text(const Config& from, const Config& to) {
  std::vector<std::string> typed;
  for (const Change& change : changes_between(from, to)) typed.push_back(change.typed);
  return joined(typed, " ");
}

/// What `validate` asks first. Most candidates fail here, and an Error for each would take seconds.
bool divides(const Config& config, std::int64_t ranks, std::int64_t tp, std::int64_t accumulate) {
  if (ranks % tp != 0 || config.model.heads % tp != 0) return false;
  return config.train.global_batch % (ranks / tp * accumulate) == 0;
}

/// Whether the lesson honours what differs, and all of `to` goes together.
bool is_accepted(const LessonInfo& lesson, const Config& from, const Config& to) {
  for (const Change& change : changes_between(from, to)) {
    if (!honours(lesson, change.key)) return false;
  }
  try {
    validate(to, {});
    const MeshSizes sizes{.tp = static_cast<int>(to.mesh.tp), .dp = static_cast<int>(replicas(to))};
    const Mesh mesh(to.mesh.order, sizes, static_cast<int>(to.run.ranks));
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// `config` with these; nothing where that would be refused.
std::optional<Config> changed(const LessonInfo& lesson, const Config& config, std::int64_t ranks,
                              std::int64_t tp, std::int64_t accumulate) {
  if (!divides(config, ranks, tp, accumulate)) return std::nullopt;
  Config out = config;
  out.run.ranks = ranks;
  out.mesh.tp = tp;
  out.mesh.sequence_parallel = config.mesh.sequence_parallel && tp > 1;
  out.train.accumulate = accumulate;
  if (!is_accepted(lesson, config, out)) return std::nullopt;
  return out;
}

}  // namespace

std::uint64_t model_buffer_bytes(const Config& config) {
  const ModelConfig& model = config.model;
  const std::int64_t norms = model.norm == NormKind::batch ? 2 * model.depth + 1 : 0;
  return static_cast<std::uint64_t>(model.buffers_mb * (1 << 20)) +
         sizeof(float) * 2 * static_cast<std::uint64_t>(norms * model.embed);
}

std::vector<std::pair<std::string, std::uint64_t>> MemoryPlan::categories() const {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (const auto& [name, bytes] : {std::pair{"weights", weights},
                                    {"gradients", gradients},
                                    {"Adam", moments},
                                    {"buffers", buffers},
                                    {"activations", activations},
                                    {"N x N matrices", attention},
                                    {"working", working},
                                    {"batches", batches},
                                    {"program", program}}) {
    if (bytes > 0) out.emplace_back(name, bytes);
  }
  return out;
}

std::string MemoryPlan::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : categories()) parts.push_back(name + " " + human_bytes(bytes));
  return fmt::format("{}: {}", human_bytes(total()), joined(parts));
}

MemoryFacts memory_facts(const Config& config, bool on_cuda) {
  const AmpMode mode = config.amp.mode;
  const CpuInstructions& cpu = cpu_instructions();
  const bool half = is_16_bit(mode) || (mode == AmpMode::mixed && (on_cuda || cpu.multiplies_bf16()));
  const bool emulates = !on_cuda && ((mode == AmpMode::bf16 && !cpu.multiplies_bf16()) ||
                                     (mode == AmpMode::fp16 && !cpu.multiplies_fp16()));
  return {.on_cuda = on_cuda,
          .value_bytes = half ? 2 : 4,
          .emulates = emulates,
          .writes_attention = config.model.attention == AttentionKind::math};
}

MemoryPlan plan_memory(const Config& config, const MemoryFacts& facts) {
  const bool computes = config.run.measure != MeasureKind::io;
  const TrainingForm form{.batch = micro_batch(config),
                          .tp = config.mesh.tp,
                          .shares_tokens = config.mesh.sequence_parallel,
                          .value_bytes = facts.value_bytes,
                          .fused = config.fusion.residual_norm && config.fusion.qkv,
                          .fused_loss = config.fusion.head_loss,
                          .fused_adam = config.fusion.adam};
  const TrainingBytes bytes = count_training_bytes(vit_shape(config), form);
  MemoryPlan out{.weights = bytes.weights,
                 .gradients = bytes.gradients,
                 .moments = bytes.moments,
                 .buffers = model_buffer_bytes(config) + averaging_bytes(config, bytes.gradients),
                 .batches = data_bytes(config, facts.on_cuda),
                 .program = facts.program_bytes > 0 ? facts.program_bytes
                            : facts.on_cuda         ? kCudaProgramBytes
                                                    : kProgramBytes};
  if (!computes) return out;
  out.activations = bytes.activations;
  out.working = bytes.working + update_bytes(bytes, facts.on_cuda);
  if (!facts.on_cuda) {
    if (facts.value_bytes == 2) out.working += facts.emulates ? widened_bytes(config) : kHalfKernelBytes;
    // Flat buffers are laid out anew through a copy of one, and the heap does not give back what it had
    // before.
    if (config.comm.sync == SyncKind::buckets) out.working += bytes.gradients;
  }
  if (facts.writes_attention) out.attention = attention_matrix_bytes(config);
  // Before the first step ranks probe their link with as much as this, which a small model takes no more
  // than.
  if (!facts.on_cuda && config.run.ranks > 1 && config.comm.probe) {
    const std::uint64_t kept = out.activations + out.attention;
    out.working = std::max(out.working, kMostProbeBytes - std::min(kMostProbeBytes, kept));
  }
  return out;
}

MemoryPlan plan_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts) {
  return plan_memory(as_honoured(lesson, config), facts);
}

std::vector<MemoryFit> what_would_fit(const LessonInfo& lesson, const Config& config,
                                      const MemoryFacts& facts, std::uint64_t limit_bytes) {
  std::vector<MemoryFit> out;
  const auto fits = [&](const std::optional<Config>& other) {
    if (!other) return false;
    const MemoryPlan plan = plan_memory(lesson, *other, facts);
    if (plan.total() > limit_bytes) return false;
    out.push_back({change_text(config, *other), plan});
    return true;
  };
  const std::int64_t ranks = config.run.ranks, tp = config.mesh.tp, accumulate = config.train.accumulate;
  const std::int64_t most_passes = std::min(config.train.global_batch, kMostPasses);
  for (std::int64_t passes = accumulate + 1; passes <= most_passes; ++passes)
    if (fits(changed(lesson, config, ranks, tp, passes))) break;
  bool splits = false, found = false;
  for (std::int64_t more = ranks; more <= kMostRanks && !splits; ++more) {
    for (std::int64_t split = 1; split <= std::min(more, config.model.heads) && !splits; ++split) {
      const bool same = more == ranks && split == tp;
      if (same || (found && split == 1)) continue;
      if (!fits(changed(lesson, config, more, split, accumulate))) continue;
      found = true;
      splits = split > 1;
    }
  }
  return out;
}

void check_memory_cap(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts) {
  if (config.run.memory_cap.empty()) return;
  check_memory(lesson, config, facts, parse_bytes(config.run.memory_cap, "run.memory_cap"),
               "run.memory_cap = " + config.run.memory_cap);
}

void check_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                  std::uint64_t limit_bytes, const std::string& what) {
  const MemoryPlan plan = plan_memory(lesson, config, facts);
  if (plan.total() <= limit_bytes) return;
  std::vector<std::string> ways;
  for (const MemoryFit& fit : what_would_fit(lesson, config, facts, limit_bytes))
    ways.push_back(fmt::format("{} ({} a rank)", fit.change, human_bytes(fit.plan.total())));
  const std::string mesh = config.run.ranks == 1
                               ? "1 rank"
                               : fmt::format("{} ranks, mesh.tp = {}", config.run.ranks, config.mesh.tp);
  throw Error(
      fmt::format("a rank would need more memory than {} ({})", what, human_bytes(limit_bytes)),
      fmt::format("{}, {} samples at a time; predicted {}", mesh, micro_batch(config), plan.text()),
      ways.empty()
          ? "no mesh of up to 4096 ranks fits with the other settings as they are: a smaller model or "
            "batch, or more memory"
          : "these fit: " + joined(ways, "; or "));
}

}  // namespace isobar
