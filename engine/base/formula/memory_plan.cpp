#include "formula/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/cpu_instructions.h"
#include "core/error.h"
#include "core/parse_bytes.h"
#include "core/text.h"
#include "core/token_shares.h"
#include "formula/bucket_plan.h"
#include "formula/compression.h"
#include "formula/group_traffic.h"
#include "formula/model_shape.h"
#include "formula/pipeline_memory.h"
#include "formula/vit_memory.h"
#include "launch/mesh.h"

namespace isobar {
namespace {

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
/// has batches; and the climatologies of both data sets. A sample is a field and train.rollout targets. Ranks
/// that read together read a part of each, and have whole batches beside their loaders' (SharedReading). What
/// is held while these are joined is gone when forward begins, whose images and forecasts take its place.
std::uint64_t data_bytes(const Config& config, bool on_cuda, bool joins_batches) {
  const auto field = static_cast<std::uint64_t>(field_bytes(config));
  const auto samples = static_cast<std::uint64_t>(micro_batch(config));
  const std::uint64_t whole = static_cast<std::uint64_t>(fields_of_sample(config)) * samples * field;
  const std::uint64_t batch = whole / static_cast<std::uint64_t>(config.data.read_group);
  const std::uint64_t gathered = config.data.read_group > 1 ? whole : 0;
  const std::uint64_t joined = joins_batches && config.train.accumulate > 1
                                   ? static_cast<std::uint64_t>(config.train.accumulate) * whole
                                   : 0;
  if (on_cuda) return (config.loader.kind == LoaderKind::gpu ? 5 : 2) * batch + gathered + joined;
  const std::uint64_t slots = slots_of(config), climatologies = 2 * field;
  if (slots == 0) return batch + gathered + climatologies + joined;
  const auto valid = static_cast<std::uint64_t>(config.data.limit_valid);
  const std::uint64_t of_validation = valid > 0 ? std::min(slots, valid / samples) : slots;
  const std::uint64_t slot = (batch + kHugePage - 1) / kHugePage * kHugePage;
  return (slots + of_validation) * slot + gathered + climatologies + joined;
}

/// Samples of the model at a time: each member of an ensemble is one.
std::int64_t samples_at_a_time(const Config& config) {
  return micro_batch(config) * config.mesh.members_per_device;
}

/// Keys that the own tokens attend to together.
std::int64_t attended_tokens(const Config& config, std::int64_t own) {
  const std::int64_t all = vit_shape(config).tokens();
  return config.model.window > 0 ? std::min(all, own + 2 * config.model.window) : all;
}

/// float32 copies of what the largest operation takes and gives: the gradient of attention (q, k, v, out and
/// its gradient, and three more), of a linear layer of the MLP, or of the head.
std::uint64_t widened_bytes(const Config& config) {
  const VitShape shape = vit_shape(config);
  const std::int64_t embed = shape.embed, tp = config.mesh.tp, all = shape.tokens(),
                     own = largest_share(all, config.mesh.cp),
                     patch = shape.channels * shape.patch * shape.patch;
  const std::int64_t attention = (4 * own + 4 * attended_tokens(config, own)) * embed / tp;
  const std::int64_t values = std::max({attention, own * (embed + 4 * embed / tp), all * (embed + patch)});
  const std::int64_t weights = embed * std::max(4 * embed / tp, patch);
  return static_cast<std::uint64_t>(samples_at_a_time(config) * values + weights) * sizeof(float);
}

/// softmax(q k^T) of every head of this rank, sample and block, [N, N], or of the own tokens [n, N];
/// `blocks` are kept at a time.
std::uint64_t attention_matrix_bytes(const Config& config, std::int64_t blocks) {
  const VitShape shape = vit_shape(config);
  const std::int64_t own = largest_share(shape.tokens(), config.mesh.cp);
  const std::int64_t matrices =
      config.train.rollout * samples_at_a_time(config) * blocks * shape.heads / config.mesh.tp;
  return static_cast<std::uint64_t>(matrices * own * attended_tokens(config, own)) * sizeof(float);
}

/// What plain Adam adds to the peak of the backward pass. It works when activations are gone. On a CUDA
/// device it takes their place. On a CPU the heap keeps their place, and has a block so large where what they
/// left is as large; one that is too large for the heap is mapped beside it.
std::uint64_t update_bytes(const TrainingBytes& bytes, std::uint64_t attention, bool on_cuda) {
  if (on_cuda) {
    const std::uint64_t backward = bytes.in_flight + bytes.activations + attention + bytes.working;
    return bytes.update - std::min(bytes.update, backward);
  }
  return bytes.update <= std::min(bytes.activations, kLargestInHeap) ? 0 : bytes.update;
}

/// What the heap of a processor does not give back, and what kernels of 16 bits keep. Flat buffers are laid
/// out anew through a copy of one. Before the first step ranks probe their link with as much as
/// kMostProbeBytes, which a small model's `step` takes no more than.
std::uint64_t gaps_of_heap(const Config& config, const MemoryFacts& facts, const TrainingBytes& bytes,
                           std::uint64_t step) {
  std::uint64_t out = facts.value_bytes == 2 && !facts.emulates ? kHalfKernelBytes : 0;
  if (config.comm.sync == SyncKind::buckets && config.mesh.zero == 0) out += bytes.gradients;
  if (config.run.ranks == 1 || !config.comm.probe) return out;
  return std::max(out, kMostProbeBytes - std::min(kMostProbeBytes, step));
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

}  // namespace

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

TrainingForm training_form(const Config& config, const MemoryFacts& facts) {
  const bool by_block = config.model.checkpoint == CheckpointKind::block;
  const std::int64_t again =
      by_block ? config.model.checkpoint_every : 1;  // blocks whose weights are there at once
  const bool is_plain = config.train.rollout == 1 && members(config) == 1;
  return {.batch = samples_at_a_time(config),
          .tokens = largest_share(vit_shape(config).tokens(), config.mesh.cp),
          .leads = config.train.rollout,
          .members = models_of_ensemble(config),
          .has_members = !is_plain,
          .kept = kept_form(config, facts.value_bytes),
          .fused = config.fusion.residual_norm && config.fusion.qkv,
          .fused_loss = config.fusion.head_loss && is_plain,
          .fused_adam = config.fusion.adam,
          .shares = state_shares(config),
          .gathered = std::max<std::int64_t>(2, again) + config.mesh.prefetch,
          .bucket_bytes = static_cast<double>(mebibytes(config.comm.bucket_mb))};
}

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
                                    {"in flight", in_flight},
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

namespace {

/// The plan of a rank that trains with these bytes, and keeps the activations of `kept_blocks` blocks.
MemoryPlan plan_of_rank(const Config& config, const MemoryFacts& facts, const TrainingBytes& bytes,
                        std::int64_t kept_blocks) {
  const bool computes = config.run.measure != MeasureKind::io;
  MemoryPlan out{.weights = bytes.weights,
                 .gradients = bytes.gradients,
                 .moments = bytes.moments,
                 .buffers = model_buffer_bytes(config) + averaging_bytes(config, bytes.gradients),
                 .in_flight = bytes.in_flight,
                 .batches = data_bytes(config, facts.on_cuda, facts.joins_batches),
                 .program = facts.program_bytes > 0 ? facts.program_bytes
                            : facts.on_cuda         ? kCudaProgramBytes
                                                    : kProgramBytes,
                 .host = bytes.host};
  if (!computes) return out;
  out.activations =
      bytes.activations +
      static_cast<std::uint64_t>(samples_at_a_time(config) * facts.value_bytes * window_mask_values(config));
  if (facts.writes_attention) out.attention = attention_matrix_bytes(config, kept_blocks);
  out.working = bytes.working + update_bytes(bytes, out.attention, facts.on_cuda);
  if (facts.on_cuda) return out;
  if (facts.value_bytes == 2 && facts.emulates) out.working += widened_bytes(config);
  out.program += gaps_of_heap(config, facts, bytes, out.activations + out.attention + out.working);
  return out;
}

MemoryFacts facts_in(const LessonInfo& lesson, MemoryFacts facts) {
  facts.joins_batches = honours(lesson, "mesh.pp");
  return facts;
}

}  // namespace

std::vector<MemoryPlan> plans_of_pipeline(const Config& config, const MemoryFacts& facts) {
  const VitShape shape = vit_shape(config);
  const TrainingForm form = training_form(config, facts);
  const PipelineSchedule schedule = schedule_of(config);
  const std::vector<StageBlocks> blocks =
      blocks_of_stages(shape.depth, schedule.stages, config.mesh.stage_blocks);
  std::vector<MemoryPlan> out;
  for (int rank = 0; rank < std::ssize(schedule.ranks); ++rank)
    out.push_back(plan_of_rank(config, facts, count_pipeline_bytes(shape, form, schedule, blocks, rank),
                               kept_blocks(schedule, blocks, rank)));
  return out;
}

MemoryPlan plan_memory(const Config& config, const MemoryFacts& facts) {
  if (config.mesh.pp == 1)
    return plan_of_rank(config, facts, count_training_bytes(vit_shape(config), training_form(config, facts)),
                        config.model.depth);
  const std::vector<MemoryPlan> plans = plans_of_pipeline(config, facts);
  return *std::max_element(plans.begin(), plans.end(),
                           [](const MemoryPlan& a, const MemoryPlan& b) { return a.total() < b.total(); });
}

MemoryPlan plan_memory(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts) {
  return plan_memory(as_honoured(lesson, config), facts_in(lesson, facts));
}

std::vector<MemoryPlan> plans_of_pipeline(const LessonInfo& lesson, const Config& config,
                                          const MemoryFacts& facts) {
  return plans_of_pipeline(as_honoured(lesson, config), facts_in(lesson, facts));
}

}  // namespace isobar
