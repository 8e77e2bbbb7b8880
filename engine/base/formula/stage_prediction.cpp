#include "formula/stage_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/cpu_instructions.h"
#include "core/error.h"
#include "core/stage.h"
#include "core/token_shares.h"
#include "formula/compressed_step.h"
#include "formula/context_parallel.h"
#include "formula/group_traffic.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/overlap.h"
#include "formula/sharded_step.h"
#include "formula/tensor_parallel.h"

namespace isobar {
namespace {

constexpr double kMicro = 1e6;
constexpr double kMebi = 1 << 20;

AmpMode resolved(AmpMode mode, bool on_cuda) {
  const bool has_half = on_cuda || cpu_instructions().multiplies_bf16();
  if (mode == AmpMode::mixed && has_half) return AmpMode::bf16;
  if (mode == AmpMode::mixed || mode == AmpMode::automatic) return on_cuda ? AmpMode::tf32 : AmpMode::none;
  return mode;
}

bool reads_ahead(const Config& config) {
  return config.loader.kind == LoaderKind::gpu ||
         (config.loader.kind == LoaderKind::workers && config.data.workers > 0);
}

/// Reads for one batch, in processor time of the readers and until it is there.
struct Reading {
  double bytes = 0;
  double busy_us = 0;
  double until_us = 0;
  double gather_us = 0;
};

Reading reading_of(const Config& config, const MachineRates& rates, int processors) {
  const auto readers = static_cast<double>(
      reads_ahead(config) ? std::clamp<std::int64_t>(config.data.workers, 1, processors) : 1);
  Reading out{.bytes = read_bytes_a_step(config)};
  out.busy_us = out.bytes / rates.read_bytes_per_s * kMicro;
  out.until_us = out.busy_us / readers;
  if (config.data.throttle_mb_per_s > 0)
    out.until_us = std::max(out.until_us, out.bytes / static_cast<double>(config.data.throttle_mb_per_s));
  const Link link = link_between(config, rates.link);
  out.gather_us =
      kMicro * read_seconds({.gather_bytes = read_traffic(config).gather_bytes,
                             .gathers = read_traffic(config).gathers},
                            config.data.read_group,
                            {.link_bytes_per_s = link.bytes_per_us * kMicro, .latency_us = link.latency_us});
  out.until_us += out.gather_us;
  return out;
}

/// Bytes of each all-reduce, in order.
std::vector<double> messages_of(const Config& config, double bytes) {
  if (config.comm.sync == SyncKind::none) return {};
  if (config.comm.sync == SyncKind::at_end) return {bytes};
  if (config.comm.sync == SyncKind::per_parameter) {
    const auto tensors = static_cast<std::size_t>(16 * config.model.depth + 6);
    return std::vector<double>(tensors, bytes / static_cast<double>(tensors));
  }
  std::vector<double> out;
  for (double left = bytes; left > 0; left -= out.back())
    out.push_back(
        std::min(left, kMebi * (out.empty() ? std::min(config.comm.first_bucket_mb, config.comm.bucket_mb)
                                            : config.comm.bucket_mb)));
  return out;
}

/// Weights are averaged once in comm.local_steps steps, with nothing to hide behind.
void add_weight_average(const Config& config, const Link& link, double bytes, StepStages& out) {
  const auto ranks = static_cast<int>(models(config));
  const auto steps = static_cast<double>(config.comm.local_steps);
  out.comm_us = out.comm_total_us = ring_all_reduce_us(link, ranks, bytes) / steps;
  out.wire_bytes = ring_bytes(ranks, bytes) / steps;
}

/// In the order of the declaration the first bucket waits for the last gradient, and all others for it.
bool overlaps(const Config& config) {
  const bool in_buckets = config.comm.sync == SyncKind::buckets;
  const bool waits = in_buckets && config.comm.bucket_order == BucketOrder::forward;
  return config.comm.overlap && !waits && config.comm.sync != SyncKind::at_end &&
         config.comm.sync != SyncKind::per_parameter;
}

/// Messages of comm.compress, by the walk of formula/compressed_step.h. Their arithmetic is bound by memory:
/// a cast to 16 bits and back takes 1.5 times a copy of all gradients, and factors read or write them five
/// times, a copy twice.
void add_compressed(const Config& config, const Link& link, const std::vector<GradientMatrix>& gradients,
                    double copy_us, StepStages& out) {
  const auto ranks = static_cast<int>(models(config));
  SchemeStep step{.computing = {.forward_us = out.forward_us, .backward_us = out.backward_us},
                  .arithmetic_us = (is_16_bit(config.comm.compress) ? 1.5 : 2.5) * copy_us,
                  .turns = planned_messages(gradients, config.comm)};
  if (!overlaps(config))
    for (StepMessages& messages : step.turns)
      for (PlannedMessage& message : messages) message.ready = 1;
  const double computing_us = out.forward_us + out.backward_us + step.arithmetic_us;
  out.comm_us = std::max(0.0, compressed_step_us(step, link, ranks) - computing_us);
  out.backward_us += step.arithmetic_us;
  const auto turns = static_cast<double>(step.turns.size());
  for (const StepMessages& messages : step.turns) {
    for (const PlannedMessage& message : messages) {
      const auto bytes = static_cast<double>(message.bytes);
      out.comm_total_us += ring_all_reduce_us(link, ranks, bytes) / turns;
      out.wire_bytes += ring_bytes(ranks, bytes) / turns;
    }
  }
}

/// Whether ranks share their states, or add gradients up group by group.
bool shares_states(const Config& config) {
  return config.mesh.zero > 0 || (config.mesh.shard > 0 && config.mesh.shard < models(config));
}

/// float32 weights of the embedding, each block, and the head.
std::vector<double> unit_bytes(const VitShape& shape) {
  const ParameterCounts counts = count_parameters(shape);
  std::vector<double> out(static_cast<std::size_t>(shape.depth + 2),
                          4 * static_cast<double>(counts.blocks) / static_cast<double>(shape.depth));
  out.front() = 4 * static_cast<double>(counts.positions + counts.patch);
  out.back() = 4 * static_cast<double>(counts.norm + counts.head);
  return out;
}

/// In several passes weights of stage 3 are gathered for each, and from stage 2 on gradients are summed in
/// each.
void add_shared(const Config& config, const Link& measured, const VitShape& shape, StepStages& out) {
  const double passes = static_cast<double>(config.train.accumulate);
  ShardedWork work{.shares = state_shares(config),
                   .inside = node_link_between(config, measured),
                   .between = link_between(config, measured),
                   .unit_bytes = unit_bytes(shape),
                   .bucket_bytes = kMebi * config.comm.bucket_mb,
                   .prefetch = config.mesh.prefetch,
                   .forward_us = out.forward_us / passes,
                   .backward_us = out.backward_us / passes};
  const ShardedTimes times = sharded_times(work);
  const double waits_us = passes * (times.forward_us - work.forward_us);
  out.forward_us += waits_us;
  out.backward_us += passes * (times.backward_us - work.backward_us);
  const double more = work.shares.stage < 2 ? 0 : passes - 1;
  const double again_us = work.shares.stage == 3 ? times.comm_total_us : times.sums_total_us;
  out.comm_us = times.comm_us + more * times.sums_us;
  out.comm_total_us = times.comm_total_us + more * again_us;
  const StateTraffic traffic =
      state_traffic(static_cast<double>(parameters_on_rank(shape, config.mesh.tp)), work.shares);
  out.wire_bytes = traffic.total();
}

/// Where passes are a pipeline's, gradients leave behind the last one: in one message, or as shares.
Config sent_behind(Config config) {
  if (config.comm.sync != SyncKind::none) config.comm.sync = SyncKind::at_end;
  return config;
}

/// Gradients become ready evenly over the backward pass, and all of them at its end where nothing overlaps.
/// `copy_us`: what copying all gradients once takes.
void add_comm(const Config& config, const MachineRates& rates, double gradient_bytes, double copy_us,
              const std::vector<GradientMatrix>& gradients, StepStages& out) {
  const auto ranks = static_cast<int>(models(config));
  const Link link = link_between(config, rates.link);
  if (config.comm.compress != CompressKind::none)
    return add_compressed(config, link, gradients, copy_us, out);
  if (ranks == 1) return;
  if (shares_states(config)) return add_shared(config, rates.link, vit_shape(config), out);
  if (config.comm.average == Averaged::weights) return add_weight_average(config, link, gradient_bytes, out);
  const bool in_buckets = config.comm.sync == SyncKind::buckets;
  if (in_buckets && !config.comm.bucket_view) out.backward_us += copy_us;  // copied when they become ready
  std::vector<BucketTime> buckets;
  double ready = 0;
  for (const double bytes : messages_of(config, gradient_bytes)) {
    ready += bytes / gradient_bytes;
    const double cost_us = ring_all_reduce_us(link, ranks, bytes);
    buckets.push_back(
        {.ready_us = out.backward_us * (overlaps(config) ? std::min(1.0, ready) : 1), .cost_us = cost_us});
    out.comm_total_us += cost_us;
    out.wire_bytes += ring_bytes(ranks, bytes);
  }
  out.comm_us = exposed_us({.forward_us = out.forward_us, .backward_us = out.backward_us}, buckets);
  if (in_buckets && !config.comm.bucket_view) out.comm_us += copy_us;  // and back
  const double buffers = config.comm.broadcast_buffers ? static_cast<double>(model_buffer_bytes(config)) : 0;
  if (buffers == 0) return;
  const auto passes = static_cast<double>(config.train.accumulate);
  out.forward_us += passes * broadcast_us(link, ranks, buffers);
  out.wire_bytes += passes * buffers;
}

/// Ranks, and who reads ahead for them, share the processors: where they want more than there are, all takes
/// longer.
void share_processors(const Config& config, const Reading& reading, int processors, int threads,
                      StepStages& out) {
  const double computing_us = out.forward_us + out.backward_us + out.optimize_us;
  const double beside_us = reads_ahead(config) ? reading.busy_us : 0;
  const double wanted_us = static_cast<double>(config.run.ranks) * (computing_us * threads + beside_us);
  const double longer = std::max(1.0, wanted_us / processors / std::max(computing_us, 1e-9));
  out.forward_us *= longer;
  out.backward_us *= longer;
  out.optimize_us *= longer;
}

/// Ranks of a pipeline compute when it is their turn, and sum their gradients over replicas behind it. States
/// of the rank with most of them end the step.
void add_pipeline(const Config& config, const StepForm& form, const StepTime& time, const MachineRates& rates,
                  double at_once, StepStages& out) {
  const Link link = link_between(config, rates.link);
  const auto copies = static_cast<double>(models(config));
  PipelineTimes times = pipeline_times(config, form, time, link,
                                       at_once / static_cast<double>(config.run.ranks / config.mesh.pp));
  const std::int64_t most = *std::max_element(times.parameters.begin(), times.parameters.end());
  const double gradient_bytes = 4.0 * static_cast<double>(times.parameters.front());
  const double crowd = std::max(1.0, static_cast<double>(config.run.ranks) / at_once);
  const double sum_us = ring_all_reduce_us(link, static_cast<int>(copies), 4.0 * static_cast<double>(most));
  out.forward_us = times.forward_us(0);
  out.backward_us = times.course.busy_us[0] - out.forward_us;
  out.comm_us = times.course.step_us - times.course.busy_us[0] + sum_us;
  out.optimize_us = time.optimize_us * crowd * static_cast<double>(most) /
                    static_cast<double>(count_parameters(form.shape).total());
  double messages = 0;
  for (const BoundaryTraffic& boundary : times.boundaries)
    if (boundary.from_rank == 0 || boundary.to_rank == 0) messages += static_cast<double>(boundary.messages);
  out.comm_total_us = messages * times.costs.message_us + sum_us;
  out.wire_bytes = times.sent_bytes(0) + ring_bytes(static_cast<int>(copies), gradient_bytes);
  out.pipeline = std::move(times);
}

/// What ranks of one model, and models of one ensemble, wait for. Of the ranks of a pipeline the first, which
/// has a part of the blocks and the embedding.
void add_model_comm(const Config& config, const StepForm& form, const Link& link, StepStages& out) {
  const std::int64_t value_bytes = form.kept.value_bytes;
  VitShape shape = form.shape;
  shape.depth = (shape.depth + config.mesh.pp - 1) / config.mesh.pp;
  const ContextParallelForm context = context_form(config, value_bytes);
  const TensorParallelForm layers = tensor_form(config, value_bytes);
  const TensorParallelTimes split = tensor_parallel_times(shape, layers, form.passes, link);
  out.model_comm_us = context_times(shape, context, link).total_us() + split.forward_us + split.backward_us;
  out.model_wire_bytes = context_step(shape, context, 0).bytes() + tensor_parallel_wire_bytes(shape, layers);
  const EnsembleTraffic members = ensemble_traffic(config);
  const auto models = static_cast<int>(models_of_ensemble(config));
  out.ensemble_us =
      static_cast<double>(members.gathers) * ring_half_us(link, models, members.forecasts_bytes);
  out.comm_us += out.model_comm_us + out.ensemble_us;
  out.comm_total_us += out.model_comm_us + out.ensemble_us;
  out.wire_bytes += out.model_wire_bytes + members.gather_bytes;
}

}  // namespace

namespace {

/// The slower of an emulated link and what was measured.
Link slower_link(const LinkConfig& emulated, const Link& measured) {
  const Link wanted = link_of(emulated.latency_us, emulated.gbit_per_s);
  Link out = measured;
  out.latency_us = std::max(out.latency_us, wanted.latency_us);
  if (wanted.bytes_per_us > 0 && (out.bytes_per_us == 0 || wanted.bytes_per_us < out.bytes_per_us))
    out.bytes_per_us = wanted.bytes_per_us;
  return out;
}

}  // namespace

Link link_between(const Config& config, const Link& measured) {
  return slower_link(config.comm.link, measured);
}

Link node_link_between(const Config& config, const Link& measured) {
  const LinkConfig& node = config.comm.node_link;
  const bool is_apart = node.gbit_per_s > 0 || node.latency_us > 0;
  return slower_link(is_apart ? config.comm.node_link : config.comm.link, measured);
}

std::vector<std::pair<std::string, double>> StepStages::named() const {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [stage, time_us] :
       {std::pair{Stage::load, load_us}, std::pair{Stage::forward, forward_us},
        std::pair{Stage::backward, backward_us}, std::pair{Stage::comm, comm_us},
        std::pair{Stage::optimize, optimize_us}})
    out.emplace_back(name_of(stage), time_us);
  return out;
}

double StepStages::needed_bytes_per_s(std::int64_t ranks) const {
  const double rest_us = step_us() - load_us;
  return rest_us > 0 ? static_cast<double>(ranks) * read_bytes / rest_us * kMicro : 0;
}

StepForm step_form(const LessonInfo& lesson, const Config& config, bool on_cuda) {
  const auto fused = [&](const char* key, bool value) { return value && honours(lesson, key); };
  StepForm out;
  out.shape = vit_shape(config);
  out.batch = micro_batch(config) * config.mesh.members_per_device;
  out.precision = resolved(config.amp.mode, on_cuda);
  out.attention = config.model.attention;
  out.fused_adam = fused("fusion.adam", config.fusion.adam);
  out.fused_bias_gelu = fused("fusion.bias_gelu", config.fusion.bias_gelu);
  out.fused_residual_norm =
      fused("fusion.residual_norm", config.fusion.residual_norm && config.model.norm == NormKind::layer);
  out.fused_qkv = fused("fusion.qkv", config.fusion.qkv);
  out.fused_head_loss = fused("fusion.head_loss", config.fusion.head_loss);
  out.fused_grad_norm = fused("fusion.grad_norm", config.fusion.grad_norm);
  out.patch_is_product = honours(lesson, "fusion.qkv");
  out.uploads_beside = config.loader.kind == LoaderKind::gpu && config.loader.copy_stream;
  out.graph = fused("graph.enabled", config.graph.enabled);
  out.graph_has_optimizer = config.graph.scope == GraphScope::step;
  out.kept = kept_form(config, is_16_bit(out.precision) ? 2 : 4);
  out.passes = config.train.accumulate * config.train.rollout;
  out.tp = config.mesh.tp;
  out.shares_tokens = out.kept.shares_tokens;
  if (config.mesh.cp > 1) out.own_tokens = largest_share(out.shape.tokens(), config.mesh.cp);
  out.fused_head_loss = out.fused_head_loss && config.train.rollout == 1 && members(config) == 1;
  return out;
}

double read_bytes_a_step(const Config& config) {
  if (config.data.source == DataSource::synthetic) return 0;
  return read_traffic(config).file_bytes;
}

int threads_a_rank(const Config& config, const Processors& here) {
  return here.threads(config.run.threads, config.run.ranks).count;
}

StepStages predict_stages(const LessonInfo& lesson, const Config& config, const MachineRates& rates,
                          const Processors& here) {
  const StepForm form = step_form(lesson, config, /*on_cuda=*/false);
  const int threads = threads_a_rank(config, here);
  const StepTime time =
      predict_step(form, device_rates_of(rates, form.shape, form.batch, form.precision, threads));
  StepStages out{.forward_us = time.forward.total_us(),
                 .backward_us = time.backward.total_us(),
                 .optimize_us = time.optimize_us};
  const Reading reading = reading_of(config, rates, here.count);
  const auto end = [&] {
    out.read_bytes = reading.bytes;
    out.read_us = reading.until_us;
    out.gather_us = reading.gather_us;
    out.load_us = reads_ahead(config) ? std::max(0.0, reading.until_us - out.step_us()) : reading.until_us;
    return out;
  };
  const Link link = link_between(config, rates.link);
  if (config.mesh.pp > 1) {
    add_pipeline(config, form, time, rates, static_cast<double>(here.count) / threads, out);
    add_model_comm(config, form, link, out);
    return end();
  }
  share_processors(config, reading, here.count, threads, out);
  const double gradient_bytes = 4.0 * static_cast<double>(parameters_on_rank(form.shape, form.tp));
  const double memory_rate = rates.with(threads).memory_bytes_per_s;
  const bool is_behind = honours(lesson, "mesh.pp");
  add_comm(is_behind ? sent_behind(config) : config, rates, gradient_bytes,
           memory_rate > 0 ? 2 * gradient_bytes / memory_rate * kMicro : 0,
           gradient_matrices(form.shape, form.fused_qkv), out);
  if (is_behind) out.comm_us = out.comm_total_us;
  add_model_comm(config, form, link, out);
  return end();
}

}  // namespace isobar
