#include "formula/vit_counts.h"

namespace isobar {

ParameterCounts count_parameters(const VitShape& shape) {
  const std::int64_t embed = shape.embed;
  const std::int64_t patch_values = shape.channels * shape.patch * shape.patch;
  return {.positions = shape.tokens() * embed,
          .patch = embed * patch_values + embed,
          .blocks = shape.depth * (12 * embed * embed + 13 * embed),
          .norm = 2 * embed,
          .head = patch_values * embed};
}

ForwardFlops count_forward_flops(const VitShape& shape) {
  const auto tokens = static_cast<double>(shape.tokens());
  const auto embed = static_cast<double>(shape.embed);
  const auto depth = static_cast<double>(shape.depth);
  const auto patch_values = static_cast<double>(shape.channels * shape.patch * shape.patch);
  const double ends = 2 * tokens * patch_values * embed;
  return {.attention = depth * 4 * static_cast<double>(shape.attended_pairs()) * embed,
          .qkv = depth * 6 * tokens * embed * embed,
          .projection = depth * 2 * tokens * embed * embed,
          .mlp = depth * 16 * tokens * embed * embed,
          .patch = ends,
          .head = ends};
}

double training_flops(const VitShape& shape) {
  const ForwardFlops forward = count_forward_flops(shape);
  return 3 * forward.total() - forward.patch;
}

}  // namespace isobar
