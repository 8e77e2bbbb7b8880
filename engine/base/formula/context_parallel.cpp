#include "formula/context_parallel.h"

#include "core/token_shares.h"

namespace isobar {
namespace {

/// Sizes of one pass, in values of a rank's own channels (E / t).
struct Shares {
  double own = 0, next = 0, largest = 0, all = 0, window = 0;
  double neighbours = 0;
  double others = 0;  ///< c - 1
};

Shares shares_of(const VitShape& shape, const ContextParallelForm& form, std::int64_t index) {
  const auto shares = token_shares(shape.tokens(), form.cp);
  const auto values = [&](std::int64_t tokens) {
    return static_cast<double>(form.samples * tokens * shape.embed) / static_cast<double>(form.tp);
  };
  const auto count = [&](std::int64_t rank) {
    return shares.at(static_cast<std::size_t>(rank % form.cp)).count;
  };
  const bool has_left = index > 0, has_right = index + 1 < form.cp;
  return {.own = values(count(index)),
          .next = values(count(index + 1)),
          .largest = values(largest_share(shape.tokens(), form.cp)),
          .all = values(shape.tokens()),
          .window = values(shape.window),
          .neighbours = static_cast<double>(has_left) + static_cast<double>(has_right),
          .others = static_cast<double>(form.cp - 1)};
}

/// Blocks that pass on: all but the next rank's, which are the last to come. Gradients: all but the own.
ContextTraffic ring_traffic(const Shares& n, double v, double g, std::int64_t others) {
  const double passed = 2 * (n.all - n.next) * v;
  return {passed, passed + 2 * (n.all - n.own) * g, others, 2 * others, others, 2 * others};
}

ContextTraffic all_to_all_traffic(const Shares& n, double v, double g, double ranks) {
  const double to_heads = n.own * n.others / ranks;  // own tokens, heads of the others
  const double to_tokens = (n.all - n.own) / ranks;  // own heads, tokens of the others
  const auto turns = 2 * static_cast<std::int64_t>(n.others);
  return {(3 * to_heads + to_tokens) * v, (to_heads + 3 * to_tokens) * g, 2, 2, turns, turns};
}

ContextTraffic sent_once(const VitShape& shape, const ContextParallelForm& form, std::int64_t index) {
  const Shares n = shares_of(shape, form, index);
  if (form.cp == 1) return {};
  const auto v = static_cast<double>(form.value_bytes), g = static_cast<double>(form.gradient_bytes);
  if (shape.window > 0) return {2 * n.neighbours * n.window * v, 2 * n.neighbours * n.window * g, 1, 1, 1, 1};
  const double gathered = 2 * n.others * n.largest;
  const std::int64_t others = form.cp - 1;
  switch (form.way) {
    case ContextForm::gather:
      return {gathered * v, gathered * g, 1, 1, others, others};
    case ContextForm::gather_again:
      return {gathered * v, gathered * (v + g), 1, 2, others, 2 * others};
    case ContextForm::ring:
      return ring_traffic(n, v, g, others);
    case ContextForm::a2a:
      break;
  }
  return all_to_all_traffic(n, v, g, static_cast<double>(form.cp));
}

}  // namespace

ContextParallelForm context_form(const Config& config, std::int64_t value_bytes) {
  const bool narrow = value_bytes == 2 && config.mesh.grad_dtype == GradBits::bits_16;
  return {.cp = config.mesh.cp,
          .way = config.mesh.cp_comm,
          .tp = config.mesh.tp,
          .samples = micro_batch(config) * config.mesh.members_per_device,
          .passes = config.train.accumulate * config.train.rollout,
          .value_bytes = value_bytes,
          .gradient_bytes = narrow ? 2 : 4,
          .shards = config.mesh.zero > 0 ? shard_ranks(config) : 1,
          .again = config.model.checkpoint == CheckpointKind::block};
}

ContextTraffic context_block_traffic(const VitShape& shape, const ContextParallelForm& form,
                                     std::int64_t index) {
  ContextTraffic out = sent_once(shape, form, index);
  if (!form.again) return out;
  out.backward_bytes += out.forward_bytes;
  out.backward_calls += out.forward_calls;
  out.backward_turns += out.forward_turns;
  return out;
}

bool has_heads_for_all(const VitShape& shape, const ContextParallelForm& form) {
  return shape.heads / form.tp % form.cp == 0;
}

ContextStep context_step(const VitShape& shape, const ContextParallelForm& form, std::int64_t index) {
  const auto c = static_cast<double>(form.cp);
  const auto passes = static_cast<double>(form.passes);
  ContextStep out;
  if (form.cp == 1) return out;
  const double times = passes * static_cast<double>(shape.depth);
  const ContextTraffic block = context_block_traffic(shape, form, index);
  out.blocks = {times * block.forward_bytes,
                times * block.backward_bytes,
                form.passes * shape.depth * block.forward_calls,
                form.passes * shape.depth * block.backward_calls,
                form.passes * shape.depth * block.forward_turns,
                form.passes * shape.depth * block.backward_turns};
  ContextParallelForm whole = form;
  whole.tp = 1;  // the residual stream is whole on each rank of a layer
  const Shares n = shares_of(shape, whole, index);
  out.share_bytes = passes * n.others * n.largest * 4;
  out.unite_bytes = passes * n.others * n.largest * static_cast<double>(form.value_bytes);
  const std::int64_t split = shape.depth * (12 * shape.embed * shape.embed + 7 * shape.embed) / form.tp;
  out.summed_values = (split + (6 * shape.depth + 2) * shape.embed) / form.shards;
  out.sum_bytes = 2 * (c - 1) / c * 4 * static_cast<double>(out.summed_values);
  out.calls = out.blocks.calls() + 2 * form.passes + 1;
  return out;
}

ContextTimes context_times(const VitShape& shape, const ContextParallelForm& form, const Link& link) {
  ContextTimes out;
  if (form.cp == 1) return out;
  const ContextStep step = context_step(shape, form, form.cp > 2 ? 1 : 0);  // between two neighbours
  const auto took = [&](std::int64_t turns, double bytes) {
    const double sent_us = link.bytes_per_us > 0 ? bytes / link.bytes_per_us : 0;
    return static_cast<double>(turns) * link.latency_us + sent_us;
  };
  const std::int64_t ends = form.passes * (form.cp - 1);
  out.forward_us = took(step.blocks.forward_turns + ends, step.blocks.forward_bytes + step.unite_bytes);
  out.backward_us = took(step.blocks.backward_turns + ends, step.blocks.backward_bytes + step.share_bytes);
  out.sum_us = took(2 * (form.cp - 1), step.sum_bytes);
  return out;
}

std::array<ContextStep, kContextForms.size()> context_ways(const VitShape& shape, ContextParallelForm form,
                                                           std::int64_t index) {
  std::array<ContextStep, kContextForms.size()> out = {};
  for (std::size_t way = 0; way < out.size(); ++way) {
    form.way = static_cast<ContextForm>(way);
    out.at(way) = context_step(shape, form, index);
  }
  return out;
}

}  // namespace isobar
