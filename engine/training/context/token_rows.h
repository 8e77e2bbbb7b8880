#pragma once
// Queries, keys and values as rows of tokens, which is how they travel: t tensors [B, h, n, d] lie side by
// side, token by token, as [n, t B h d].
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace isobar {

struct TokenRows {
  at::Tensor rows = {};  ///< [n, t B h d]
  std::int64_t tensors = 1, batch = 1, heads = 1, head_size = 1;

  /// The i-th tensor, [B, h, n, d], a view.
  at::Tensor tensor(std::int64_t i) const;
  /// Other tokens, or other values of them, in the same form.
  TokenRows with(const at::Tensor& other) const;
};

/// Copied to rows of `type`.
TokenRows rows_of(const std::vector<at::Tensor>& tensors, at::ScalarType type);
TokenRows rows_of(const std::vector<at::Tensor>& tensors);

}  // namespace isobar
