#include "formula/vit_memory.h"

namespace isobar {

std::int64_t parameters_on_rank(const VitShape& shape, std::int64_t tp) {
  const std::int64_t split = shape.depth * (12 * shape.embed * shape.embed + 7 * shape.embed);
  return count_parameters(shape).total() - split + split / tp;
}

TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form) {
  const auto parameters = static_cast<std::uint64_t>(parameters_on_rank(shape, form.tp));
  const bool half = form.value_bytes == 2;
  const auto v = static_cast<double>(form.value_bytes);
  const auto tp = static_cast<double>(form.tp);
  const auto tokens_by_embed = static_cast<double>(form.batch * shape.tokens() * shape.embed);
  const auto values = static_cast<double>(form.batch * shape.channels * shape.height * shape.width);

  const double inputs = 8 / (form.shares_tokens ? tp : 1);
  const double entering = half && !form.fused ? 8 : 2 * v;
  const double block = inputs + entering + 12 * v / tp;
  const double last = (4 + v) / (form.shares_tokens ? tp : 1);
  const double patches = form.fused || half ? v * values : 0;
  const double turn = (form.fused_loss ? 2 * v : 12) * values;
  const double mlp = tokens_by_embed * (8 + 4 * v / tp - last);
  const double kept = tokens_by_embed * (static_cast<double>(shape.depth) * block + last) + patches;
  return {.weights = (half ? 6 : 4) * parameters,
          .gradients = 4 * parameters,
          .moments = 8 * parameters,
          .activations = static_cast<std::uint64_t>(kept),
          .working = static_cast<std::uint64_t>(std::max(turn, mlp)),
          .update = (form.fused_adam ? 0 : 4) * parameters};
}

}  // namespace isobar
