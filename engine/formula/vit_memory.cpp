#include "formula/vit_memory.h"

namespace isobar {

TrainingBytes count_training_bytes(const VitShape& shape, std::int64_t batch) {
  const auto tokens_by_embed = static_cast<std::uint64_t>(shape.tokens() * shape.embed);
  const auto field = static_cast<std::uint64_t>(4 * shape.channels * shape.height * shape.width);
  const std::uint64_t blocks = static_cast<std::uint64_t>(shape.depth) * 64 * tokens_by_embed;
  return {.state = 20 * static_cast<std::uint64_t>(count_parameters(shape).total()),
          .activations = static_cast<std::uint64_t>(batch) * (blocks + 8 * tokens_by_embed + 7 * field)};
}

}  // namespace isobar
