#include "formula/pipeline_step.h"

#include <algorithm>

#include "formula/pipeline_memory.h"

namespace isobar {
namespace {

/// Parts of a whole model's work that units take.
struct WorkShares {
  double embedding = 0, block = 0, head = 0;

  double of(const StageBlocks& own, bool is_first, bool is_last) const {
    return static_cast<double>(own.end - own.first) * block + (is_first ? embedding : 0) +
           (is_last ? head : 0);
  }
};

/// `blocks`: operations of all of them.
WorkShares shares_of(double embedding, double blocks, double head, std::int64_t depth) {
  const double all = embedding + blocks + head;
  return {embedding / all, blocks / all / static_cast<double>(depth), head / all};
}

PipelineCosts costs_of(const StepForm& form, const StepTime& time, const std::vector<StageBlocks>& blocks) {
  const VitShape& shape = form.shape;
  const ForwardFlops flops = count_forward_flops(shape);
  const double products = form.share() * (flops.qkv + flops.projection + flops.mlp);
  const WorkShares even = shares_of(0, 1, 0, shape.depth), ends = shares_of(0, 0, 1, shape.depth),
                   forward = shares_of(flops.patch, products, flops.head, shape.depth),
                   backward =
                       shares_of(flops.patch, 2 * products + form.share() * redone_flops(form.kept, shape),
                                 2 * flops.head, shape.depth);
  const auto passes = static_cast<double>(form.passes);
  PipelineCosts out;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const auto part = [&](const ClassTimes& times, const WorkShares& gemm) {
      const auto of = [&](const WorkShares& shares) {
        return shares.of(blocks[stage], stage == 0, stage + 1 == blocks.size());
      };
      return ((times.attention_us + times.element_us) * of(even) + times.gemm_us * of(gemm) +
              times.misc_us * of(ends)) /
             passes;
    };
    const double weight_us = part({.gemm_us = time.forward.gemm_us}, forward);
    out.forward_us.push_back(part(time.forward, forward));
    out.weight_us.push_back(weight_us);
    out.input_us.push_back(std::max(0.0, part(time.backward, backward) - weight_us));
  }
  return out;
}

}  // namespace

double PipelineTimes::sent_bytes(int rank) const {
  double out = 0;
  for (const BoundaryTraffic& boundary : boundaries)
    out += (boundary.from_rank == rank || boundary.to_rank == rank) ? boundary.bytes / 2 : 0;
  return out;
}

double PipelineTimes::forward_us(int rank) const {
  double out = 0;
  for (const PlacedAction& placed : course.actions)
    if (placed.rank == rank && placed.action.work == PipelineWork::forward)
      out += placed.end_us - placed.begin_us;
  return out;
}

PipelineTimes pipeline_times(const Config& config, const StepForm& form, const StepTime& time,
                             const Link& link, double at_once) {
  PipelineTimes out{.schedule = schedule_of(config)};
  out.blocks = blocks_of_stages(form.shape.depth, out.schedule.stages, config.mesh.stage_blocks);
  for (int rank = 0; rank < out.ranks(); ++rank)
    out.parameters.push_back(
        parameters_of_stages(form.shape, config.mesh.tp, out.blocks, out.schedule.stages_of(rank)));
  out.costs = costs_of(form, time, out.blocks);
  const double bytes =
      4.0 * static_cast<double>(form.batch * form.shape.tokens() * form.shape.embed) * form.token_share();
  out.costs.message_us = broadcast_us(link, 2, bytes);
  out.costs.at_once = at_once;
  out.course = course_of(out.schedule, out.costs);
  for (int stage = 0; stage + 1 < out.schedule.stages; ++stage) {
    const int from = out.schedule.rank_of_stage[static_cast<std::size_t>(stage)],
              to = out.schedule.rank_of_stage[static_cast<std::size_t>(stage) + 1];
    const std::int64_t messages = from == to ? 0 : 2 * out.schedule.parts;
    out.boundaries.push_back({stage, from, to, messages, static_cast<double>(messages) * bytes});
  }
  return out;
}

}  // namespace isobar
