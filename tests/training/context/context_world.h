#pragma once
// Ranks that share the tokens of a small model.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/token_shares.h"
#include "model/context_parallel.h"
#include "support/named.h"
#include "train/sync_world.h"

namespace isobar::testing {

using Words = std::vector<std::string>;

/// What a model of `shape` is in a configuration.
inline Config config_of_vit(const VitShape& shape) {
  Config out;
  out.data.grid = {shape.height, shape.width};
  out.data.channels = shape.channels;
  out.model.patch = shape.patch;
  out.model.embed = shape.embed;
  out.model.depth = shape.depth;
  out.model.heads = shape.heads;
  return out;
}

/// A row of `tokens` patches of one value.
inline Config config_of_tokens(std::int64_t tokens, std::int64_t heads) {
  return config_of_vit({.height = 1,
                        .width = tokens,
                        .channels = 1,
                        .patch = 1,
                        .embed = 8 * heads,
                        .depth = 1,
                        .heads = heads});
}

/// 0 where a token sees another one at most `window` tokens away, else minus infinity: [N, N].
inline at::Tensor window_mask(std::int64_t tokens, std::int64_t window, at::ScalarType type) {
  const at::Tensor place = at::arange(tokens, at::kLong);
  const at::Tensor apart = (place.unsqueeze(0) - place.unsqueeze(1)).abs();
  return at::zeros({tokens, tokens}, type)
      .masked_fill(apart > window, -std::numeric_limits<double>::infinity());
}

/// Bytes that attention of a block sends on this rank forward and backward, and messages, as the formulas
/// have them.
struct Sent {
  std::int64_t bytes = 0, calls = 0;
};
inline Sent planned(const Config& config, Comm& comm, at::ScalarType type, std::int64_t batch) {
  const std::int64_t c = comm.size(), r = comm.rank(), patch = config.model.patch;
  const std::int64_t tokens = config.data.grid[0] / patch * (config.data.grid[1] / patch);
  const std::vector<TokenShare> shares = token_shares(tokens, c);
  const std::int64_t own = shares[static_cast<std::size_t>(r)].count;
  const std::int64_t v = static_cast<std::int64_t>(c10::elementSize(type));
  const std::int64_t pair = 2 * batch * config.model.embed / config.mesh.tp;  // values of a token's K and V
  const bool as_float = config.mesh.grad_dtype == GradBits::bits_32;
  const std::int64_t d = as_float ? 4 : v;
  if (config.model.window > 0) {
    const std::int64_t sides = (r > 0 ? 1 : 0) + (r + 1 < c ? 1 : 0);
    return {sides * config.model.window * pair * (v + d), 2};
  }
  std::int64_t largest = 0;
  for (const TokenShare& share : shares) largest = std::max(largest, share.count);
  const std::int64_t gather = (c - 1) * largest * pair;
  const std::int64_t summed = type == at::kBFloat16 && comm.backend() == "gloo" ? 4 : d;
  std::int64_t passed = 0, back = 0;
  for (std::int64_t s = 0; s < c; ++s) {
    const std::int64_t there = shares[static_cast<std::size_t>((r + c - s) % c)].count * pair;
    if (s + 1 < c) passed += there;
    if (s > 0) back += there;
  }
  switch (config.mesh.cp_comm) {
    case ContextForm::gather:
      return {gather * (v + summed), 2};
    case ContextForm::gather_again:
      return {gather * (2 * v + summed), 3};
    case ContextForm::ring:
      return {passed * 2 * v + back * d, 3 * (c - 1)};
    case ContextForm::a2a:
      break;
  }
  return {4 * ((c - 1) * own + tokens - own) * (pair / 2 / c) * v, 4};
}

}  // namespace isobar::testing
