#include "formula/recompute.h"

#include <algorithm>
#include <cmath>

#include "core/token_shares.h"

namespace isobar {
namespace {

constexpr double kSum = 4;      // the residual stream is float32
constexpr double kMoments = 8;  // mean and reciprocal deviation of a row, float32
constexpr double kLogSum = 4;   // each row of a softmax, float32
constexpr double kMasks = 2;    // a byte behind either branch

std::int64_t tokens_of(const Config& config) {
  const std::int64_t patch = config.model.patch;
  return config.data.grid[0] / patch * (config.data.grid[1] / patch);
}

/// What attention has of other ranks' tokens, in values a channel of the own ones.
void add_context(const Config& config, KeptForm& out) {
  const std::int64_t window = config.model.window;
  if (config.mesh.cp == 1 && window == 0) return;
  const std::int64_t tokens = tokens_of(config);
  const auto own = static_cast<double>(largest_share(tokens, config.mesh.cp));
  const double whole = 2 * static_cast<double>(tokens) / own;
  if (window > 0) {
    const auto block = static_cast<double>(window_block(config));
    const double blocks = std::ceil(own / block);
    out.gathered = blocks * (4 * block + 4 * static_cast<double>(window)) / own - 3;
    out.passing = blocks * (4 * block + 8 * static_cast<double>(window)) / own;
    return;
  }
  switch (config.mesh.cp_comm) {
    case ContextForm::gather:
      out.gathered = whole;
      out.passing = 2 * whole;
      return;
    case ContextForm::gather_again:
      out.passing = 3 * whole;
      return;
    case ContextForm::ring:
      out.passing = 12;  // K and V and their gradients, here and on their way
      return;
    case ContextForm::a2a:
      out.gathered = 1;
      out.passing = 4;
      return;
  }
}

double groups_of(std::int64_t depth, std::int64_t every) {
  return static_cast<double>((depth + every - 1) / every);
}

}  // namespace

std::int64_t window_block(const Config& config) { return std::max<std::int64_t>(config.model.window, 64); }

std::int64_t window_mask_values(const Config& config) {
  if (config.model.window == 0) return 0;
  const std::int64_t block = window_block(config), own = largest_share(tokens_of(config), config.mesh.cp);
  const std::int64_t row = (block + 2 * config.model.window + 7) / 8 * 8;
  return (own + block - 1) / block * block * row;
}

KeptBytes kept_by_block(const KeptForm& form, const VitShape& shape) {
  const auto v = static_cast<double>(form.value_bytes);
  const auto t = static_cast<double>(form.tp);
  const double s = form.shares_tokens ? t : 1;
  const double log_sums = kLogSum * static_cast<double>(shape.heads) / t;
  const double masks = form.dropout > 0 ? kMasks : 0, others = form.gathered * v / t;
  switch (form.kind) {
    case CheckpointKind::cheap:
      return {2 * kSum / s + 8 * v / t + masks + others, 2 * kMoments / s + log_sums};
    case CheckpointKind::selective:
      return {kSum / s + 4 * v / t + others, kMoments / s + log_sums};
    case CheckpointKind::block: {
      const double share = groups_of(shape.depth, form.every) / static_cast<double>(shape.depth);
      return {kSum / s * share, kMoments / s * share};
    }
    case CheckpointKind::none:
      break;
  }
  const double entering = form.plain && form.value_bytes == 2 ? 4 * v : 2 * v;
  return {2 * kSum / s + entering + 12 * v / t + masks + others, 2 * kMoments / s + log_sums};
}

double kept_by_blocks(const KeptForm& form, const VitShape& shape, std::int64_t rows) {
  const KeptBytes block = kept_by_block(form, shape);
  return static_cast<double>(shape.depth * rows) *
         (block.per_value * static_cast<double>(shape.embed) + block.per_token);
}

double redone_bytes_per_value(const KeptForm& form) {
  const auto v = static_cast<double>(form.value_bytes);
  const auto t = static_cast<double>(form.tp);
  const double s = form.shares_tokens ? t : 1;
  const auto k = static_cast<double>(form.every);
  switch (form.kind) {
    case CheckpointKind::cheap:
      return 4 * v / t;
    case CheckpointKind::selective:
      return kSum / s + v + 8 * v / t;
    case CheckpointKind::block:
      return k * (2 * v + (12 + form.gathered) * v / t + kSum / s + (form.dropout > 0 ? kMasks : 0)) +
             (k - 1) * kSum / s;
    case CheckpointKind::none:
      break;
  }
  return 0;
}

double redone_flops(const KeptForm& form, const VitShape& shape) {
  const ForwardFlops forward = count_forward_flops(shape);
  const double last_layer = forward.mlp / 2 / static_cast<double>(shape.depth);
  switch (form.kind) {
    case CheckpointKind::selective:
      return forward.projection + forward.mlp / 2;
    case CheckpointKind::block:
      return forward.attention + forward.qkv + forward.projection + forward.mlp -
             groups_of(shape.depth, form.every) * last_layer;
    case CheckpointKind::none:
    case CheckpointKind::cheap:
      break;
  }
  return 0;
}

double recompute_factor(const KeptForm& form, const VitShape& shape) {
  return 1 + redone_flops(form, shape) / training_flops(shape);
}

KeptForm kept_form(const Config& config, std::int64_t value_bytes) {
  const FusionConfig& fusion = config.fusion;
  const bool fuses = fusion.bias_gelu || fusion.residual_norm || fusion.qkv || fusion.head_loss ||
                     config.mesh.sequence_parallel || config.mesh.zero == 3 || config.mesh.cp > 1 ||
                     config.model.window > 0;
  KeptForm out{
      .kind = config.model.checkpoint,
      .every = config.model.checkpoint_every,
      .value_bytes = value_bytes,
      .tp = config.mesh.tp,
      .shares_tokens = config.mesh.sequence_parallel && config.mesh.tp > 1,
      .plain = !fuses && config.model.dropout == 0 && config.model.checkpoint == CheckpointKind::none,
      .dropout = config.model.dropout};
  add_context(config, out);
  return out;
}

}  // namespace isobar
