#pragma once
// Attention of this rank's queries over the keys and values of all ranks, in four ways (mesh.cp_comm), or
// over those of a window; as autograd sees it. q, k, v: [B, h, n, d] of the own tokens -> [B, h, n, d]. Each
// holds `ranks` in its nodes. R = B N tokens of all samples, E = h d, v bytes a value; bytes are those that a
// rank sends in forward and backward, of even shares.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "context/token_messages.h"

namespace isobar {

using TokenRanks = std::shared_ptr<TokenMessages>;

/// A window, and the mask of the last call: all blocks and micro-batches keep the same one for backward.
struct TokenWindow {
  std::int64_t tokens = 0;  ///< to each side; 0: no window
  at::Tensor mask = {};     ///< [B m, 1, b, b + 2 tokens] of m blocks of b queries
};

/// Keys and values are gathered, and kept for backward. 4 (c - 1) / c R E v.
at::Tensor attend_gathered(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v);
/// Gathered again in backward, and none are kept. 6 (c - 1) / c R E v.
at::Tensor attend_gathered_again(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                                 const at::Tensor& v);
/// Keys and values go from rank to rank, each time while those that are here are attended to; their gradients
/// go along in backward, in float32 with mesh.grad_dtype = 32. 6 (c - 1) / c R E v.
at::Tensor attend_ring(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                       const at::Tensor& v);
/// Each rank gets all tokens of its share of the heads, and gives them back (DeepSpeed-Ulysses, Jacobs et al.
/// 2023). 8 (c - 1) / c^2 R E v.
at::Tensor attend_heads(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v);
/// Each token attends to `window` tokens to each side, and itself: keys and values of so many are exchanged
/// with both neighbours. 8 B window E v at most, whatever c is. The matrix of scores is [n, 3 window] or, of
/// small windows, [n, window + 64], and is not kept;
/// its mask is, once.
at::Tensor attend_window(const TokenRanks& ranks, TokenWindow& window, const at::Tensor& q,
                         const at::Tensor& k, const at::Tensor& v);

}  // namespace isobar
