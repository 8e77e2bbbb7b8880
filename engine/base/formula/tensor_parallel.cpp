#include "formula/tensor_parallel.h"

namespace isobar {

double tensor_parallel_wire_bytes(const VitShape& shape, const TensorParallelForm& form) {
  const auto values = static_cast<double>(form.samples * shape.tokens() * shape.embed);
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

}  // namespace isobar
