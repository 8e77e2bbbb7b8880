#include "analyse/axis_bytes.h"

#include <array>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/token_shares.h"
#include "formula/compression.h"
#include "formula/context_parallel.h"
#include "formula/gradient_matrix.h"
#include "formula/group_traffic.h"
#include "formula/link.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/state_shares.h"
#include "formula/tensor_parallel.h"
#include "pipeline/schedule.h"

namespace isobar {
namespace {

struct MeshCase {
  const LessonInfo& lesson;
  const Config& config;
  VitShape shape;
  std::int64_t value_bytes = 4;
  std::int64_t samples = 1;  ///< a pass has, with the members that a model forecasts
  std::int64_t passes = 1;   ///< a step, each of all leads
  double parameters = 0;     ///< a rank has: the mean over stages
};

MeshCase mesh_case(const LessonInfo& lesson, const Config& config, bool on_cuda) {
  MeshCase out{.lesson = lesson, .config = config, .shape = vit_shape(config)};
  out.value_bytes = memory_facts(config, on_cuda).value_bytes;
  out.samples = micro_batch(config) * config.mesh.members_per_device;
  out.passes = config.train.accumulate * config.train.rollout;
  out.parameters = static_cast<double>(parameters_on_rank(out.shape, config.mesh.tp)) /
                   static_cast<double>(config.mesh.pp);
  return out;
}

AxisBytes tensor_bytes(const MeshCase& mine) {
  const MeshConfig& mesh = mine.config.mesh;
  TensorParallelForm form = tensor_form(mine.config, mine.value_bytes);
  const auto a_pass = static_cast<double>(tensor_parallel_calls(mine.shape, form) - 1);
  double all = 0;
  for (const TokenShare& share : token_shares(mine.shape.tokens(), mesh.cp)) {
    form.tokens = share.count;
    all += tensor_parallel_wire_bytes(mine.shape, form);
  }
  return {{{all / static_cast<double>(mesh.pp * mesh.cp)}},
          1 + a_pass * static_cast<double>(mine.passes) / static_cast<double>(mesh.pp)};
}

AxisBytes context_bytes(const MeshCase& mine) {
  const MeshConfig& mesh = mine.config.mesh;
  const ContextParallelForm form = context_form(mine.config, mine.value_bytes);
  const bool is_a2a = mesh.cp_comm == ContextForm::a2a;
  SentBytes blocks{.flow = mine.shape.window > 0 ? AxisFlow::neighbours
                           : is_a2a              ? AxisFlow::all_pairs
                                                 : AxisFlow::ring};
  SentBytes rest;
  double calls = 0;
  const double part = 1.0 / static_cast<double>(mesh.cp * mesh.pp);
  for (std::int64_t rank = 0; rank < mesh.cp; ++rank) {
    const ContextStep step = context_step(mine.shape, form, rank);
    blocks.bytes += part * step.blocks.bytes();
    rest.bytes += part * (step.bytes() - step.blocks.bytes());
    calls += static_cast<double>(step.calls) / static_cast<double>(mesh.cp);
  }
  // Ranks of each stage sum gradients once a step; all else is shared out over the stages.
  return {{blocks, rest}, 1 + (calls - 1) / static_cast<double>(mesh.pp)};
}

/// Both directions of each boundary between two ranks.
AxisBytes stage_bytes(const MeshCase& mine) {
  const MeshConfig& mesh = mine.config.mesh;
  const PipelineSchedule schedule = schedule_of(mine.config);
  double boundaries = 0;
  for (std::size_t stage = 0; stage + 1 < schedule.rank_of_stage.size(); ++stage)
    boundaries += schedule.rank_of_stage[stage] != schedule.rank_of_stage[stage + 1] ? 1 : 0;
  const double messages =
      2 * boundaries * static_cast<double>(mine.config.train.accumulate) / static_cast<double>(mesh.pp);
  const double bytes = 4 * static_cast<double>(mine.samples * mine.shape.tokens() * mine.shape.embed) /
                       static_cast<double>((mesh.sequence_parallel ? mesh.tp : 1) * mesh.cp);
  return {{{messages * bytes, AxisFlow::stages}}, messages};
}

StateTraffic traffic_of(const MeshCase& mine) {
  return state_traffic(mine.parameters, state_shares(mine.config));
}

AxisBytes shard_bytes(const MeshCase& mine) { return {{{traffic_of(mine).inside}}}; }

AxisBytes copies_bytes(const MeshCase& mine) { return {{{traffic_of(mine).between}}}; }

/// Gradients of all models as their messages have them, or shared states.
AxisBytes replica_bytes(const MeshCase& mine) {
  const CommConfig& comm = mine.config.comm;
  if (comm.sync == SyncKind::none) return {{}, 0};
  if (mine.config.mesh.zero > 0) return shard_bytes(mine);
  const double gradients = ring_bytes(static_cast<int>(models(mine.config)), 4 * mine.parameters);
  if (comm.average == Averaged::weights) {
    const auto steps = static_cast<double>(comm.local_steps);
    return {{{gradients / steps}}, 1 / steps};
  }
  const bool is_one = honours(mine.lesson, "mesh.pp") || comm.sync == SyncKind::at_end;
  if (comm.compress == CompressKind::none && is_one) return {{{gradients}}, 1};
  const bool joins = mine.config.fusion.qkv && honours(mine.lesson, "fusion.qkv");
  const std::vector<GradientMatrix> matrices = gradient_matrices(mine.shape, joins);
  if (comm.compress == CompressKind::none && comm.sync == SyncKind::per_parameter)
    return {{{gradients}}, static_cast<double>(matrices.size())};
  const std::vector<StepMessages> messages = planned_messages(matrices, comm);
  if (comm.compress != CompressKind::none)
    return {{{ring_bytes(static_cast<int>(models(mine.config)), bytes_a_step(messages))}},
            calls_a_step(messages)};
  // Pieces of layers lie in fewer buckets than a whole model's.
  return {{{gradients}}, mine.config.mesh.tp > 1 ? std::nullopt : std::optional(calls_a_step(messages))};
}

/// Forecasts lie with the last stage.
AxisBytes ensemble_bytes(const MeshCase& mine) {
  const EnsembleTraffic traffic = ensemble_traffic(mine.config);
  const auto stages = static_cast<double>(mine.config.mesh.pp);
  return {{{traffic.gather_bytes / stages}}, static_cast<double>(traffic.gathers) / stages};
}

AxisBytes reading_bytes(const MeshCase& mine) {
  const ReadTraffic traffic = read_traffic(mine.config);
  return {{{traffic.gather_bytes}}, static_cast<double>(traffic.gathers)};
}

}  // namespace

AxisBytes bytes_of_axis(std::string_view axis, const LessonInfo& lesson, const Config& config, bool on_cuda) {
  using Bytes = AxisBytes (*)(const MeshCase&);
  static constexpr std::array<std::pair<std::string_view, Bytes>, 8> kAxes = {{{"tp", tensor_bytes},
                                                                               {"cp", context_bytes},
                                                                               {"pp", stage_bytes},
                                                                               {"dp", replica_bytes},
                                                                               {"shard", shard_bytes},
                                                                               {"copies", copies_bytes},
                                                                               {"ens", ensemble_bytes},
                                                                               {"read", reading_bytes}}};
  for (const auto& [name, bytes] : kAxes)
    if (name == axis) return bytes(mesh_case(lesson, config, on_cuda));
  throw Error("bytes of this axis are not known", std::string(axis), "", Exit::failed);
}

}  // namespace isobar
