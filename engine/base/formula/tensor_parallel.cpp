#include "formula/tensor_parallel.h"

#include "core/token_shares.h"

namespace isobar {

double TensorParallelForm::values(const VitShape& shape) const {
  return static_cast<double>(samples * (tokens > 0 ? tokens : shape.tokens()) * shape.embed);
}

TensorParallelForm tensor_form(const Config& config, std::int64_t value_bytes) {
  const std::int64_t samples =
      micro_batch(config) * config.mesh.members_per_device * config.train.accumulate * config.train.rollout;
  const bool narrow = value_bytes == 2 && config.mesh.grad_dtype == GradBits::bits_16;
  const VitShape grid{
      .height = config.data.grid[0], .width = config.data.grid[1], .patch = config.model.patch};
  return {.tp = config.mesh.tp,
          .samples = samples,
          .value_bytes = value_bytes,
          .gradient_bytes = narrow ? 2 : 4,
          .shares_tokens = config.mesh.sequence_parallel && config.mesh.tp > 1,
          .tokens = largest_share(grid.tokens(), config.mesh.cp)};
}

double tensor_parallel_wire_bytes(const VitShape& shape, const TensorParallelForm& form) {
  const double values = form.values(shape);
  const double share = static_cast<double>(form.tp - 1) / static_cast<double>(form.tp);
  const double blocks = 2 * 2 * share * values * static_cast<double>(shape.depth);
  const double layers = blocks * static_cast<double>(form.value_bytes + form.gradient_bytes);
  if (!form.shares_tokens) return layers;
  const ParameterCounts counts = count_parameters(shape);
  const std::int64_t partial = counts.positions + counts.patch + counts.norm + shape.depth * 6 * shape.embed;
  return layers + share * values * static_cast<double>(form.value_bytes) +
         2 * share * 4 * static_cast<double>(partial);
}

std::int64_t tensor_parallel_calls(const VitShape& shape, const TensorParallelForm& form) {
  if (form.tp == 1) return 0;
  return 1 + (form.shares_tokens ? 8 * shape.depth + 2 : 4 * shape.depth);
}

TensorParallelTimes tensor_parallel_times(const VitShape& shape, const TensorParallelForm& form,
                                          std::int64_t passes, const Link& link) {
  TensorParallelTimes out;
  if (form.tp == 1) return out;
  const auto often = static_cast<double>(2 * shape.depth);
  const auto ranks = static_cast<int>(form.tp);
  const double each = form.values(shape) / static_cast<double>(passes);
  const auto took = [&](std::int64_t value_bytes) {
    return static_cast<double>(passes) * often *
           ring_all_reduce_us(link, ranks, each * static_cast<double>(value_bytes));
  };
  out.forward_us = took(form.value_bytes);
  out.backward_us = took(form.gradient_bytes);
  return out;
}

}  // namespace isobar
