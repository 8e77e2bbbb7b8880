// Queries in blocks of b, over the keys of b + 2 w tokens around each block. w = window.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "context/token_rows.h"
#include "context/ways.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

constexpr std::int64_t kSmallestBlock = 64;
constexpr std::int64_t kMaskStep = 8;  // values; libtorch's, of memory-efficient attention

struct Blocks {
  std::int64_t window, tokens;                            ///< w, n
  std::int64_t block = std::max(window, kSmallestBlock);  ///< b
  std::int64_t count = (tokens + block - 1) / block;
  std::int64_t keys = block + 2 * window;  ///< seen by a block
  /// From w tokens before the own ones to what the last block sees, and beyond to whole blocks.
  std::int64_t rows = (count + 2) * block;
};

/// What both neighbours have at the edge to this rank, and this rank at its edges: w rows each.
struct Halo {
  at::Tensor left, right;  ///< [w, M]; undefined where there is no neighbour
};

/// Rows for the neighbours -> rows of the neighbours.
Halo exchanged(TokenMessages& ranks, const Halo& mine, std::int64_t window, std::string_view what) {
  const int c = ranks.count(), r = ranks.index();
  const bool has_left = r > 0, has_right = r + 1 < c;
  if (c == 1) return {};
  const at::Tensor& some = has_left ? mine.left : mine.right;
  const std::int64_t values = window * some.size(1);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(c), 0);
  if (has_left) counts[static_cast<std::size_t>(r - 1)] = values;
  if (has_right) counts[static_cast<std::size_t>(r + 1)] = values;
  const std::int64_t sides = (has_left ? 1 : 0) + (has_right ? 1 : 0);
  const at::Tensor in = at::empty({sides, window, some.size(1)}, some.options().requires_grad(false));
  if (has_left) in.select(0, 0).copy_(mine.left);
  if (has_right) in.select(0, sides - 1).copy_(mine.right);
  const at::Tensor out = ranks.finish(ranks.start_all_to_all(at::empty_like(in), in, counts, counts, what));
  return {has_left ? out.select(0, 0) : at::Tensor(), has_right ? out.select(0, sides - 1) : at::Tensor()};
}

/// Keys and values of the own tokens and of w on either side -> those of each block, [B blocks, h, b + 2 w,
/// d].
TensorPair to_blocks(TokenMessages& ranks, const Blocks& blocks, const TensorPair& own) {
  const std::int64_t w = blocks.window, n = blocks.tokens;
  const TokenRows mine = rows_of({own[0], own[1]});
  const TokenRows wide = mine.with(at::zeros({blocks.rows, mine.rows.size(1)}, mine.rows.options()));
  const Halo halo =
      exchanged(ranks, {mine.rows.narrow(0, 0, w), mine.rows.narrow(0, n - w, w)}, w, ranks.tracks().forward);
  wide.rows.narrow(0, w, n).copy_(mine.rows);
  if (halo.left.defined()) wide.rows.narrow(0, 0, w).copy_(halo.left);
  if (halo.right.defined()) wide.rows.narrow(0, w + n, w).copy_(halo.right);
  TensorPair out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    // [B, h, count, d, keys]: blocks overlap
    const at::Tensor seen = wide.tensor(static_cast<std::int64_t>(i))
                                .narrow(2, 0, (blocks.count - 1) * blocks.block + blocks.keys)
                                .unfold(2, blocks.keys, blocks.block);
    out[i] = seen.permute({0, 2, 1, 4, 3}).reshape({-1, seen.size(1), blocks.keys, seen.size(3)});
  }
  return out;
}

/// Adds the gradients of each block's keys, [B count, h, keys, d], to those of the tokens, [B, h, rows, d].
void add_blocks(const Blocks& blocks, const at::Tensor& d, const at::Tensor& to) {
  const at::Tensor by_block = d.unflatten(0, {to.size(0), blocks.count}).permute({0, 2, 1, 3, 4});
  for (std::int64_t begin = 0; begin < blocks.keys; begin += blocks.block) {
    const std::int64_t keys = std::min(blocks.block, blocks.keys - begin);
    to.narrow(2, begin, blocks.count * blocks.block)
        .unflatten(2, {blocks.count, blocks.block})
        .narrow(3, 0, keys)
        .add_(by_block.narrow(3, begin, keys));
  }
}

TensorPair from_blocks(TokenMessages& ranks, const Blocks& blocks, const TensorPair& d, std::int64_t batch) {
  const std::int64_t w = blocks.window, n = blocks.tokens;
  const at::ScalarType type = d[0].scalar_type();
  const at::ScalarType sums = type == at::kDouble ? type : at::kFloat;
  const std::int64_t heads = d[0].size(1), size = d[0].size(3);
  const TokenRows wide = {
      .rows = at::zeros({blocks.rows, 2 * batch * heads * size}, d[0].options().dtype(sums)),
      .tensors = 2,
      .batch = batch,
      .heads = heads,
      .head_size = size};
  for (std::size_t i = 0; i < d.size(); ++i)
    add_blocks(blocks, d[i], wide.tensor(static_cast<std::int64_t>(i)));
  const at::ScalarType travels = ranks.sums_in_float() ? sums : type;
  const Halo halo =
      exchanged(ranks, {wide.rows.narrow(0, 0, w).to(travels), wide.rows.narrow(0, w + n, w).to(travels)}, w,
                ranks.tracks().backward);
  const TokenRows own = wide.with(wide.rows.narrow(0, w, n));
  if (halo.left.defined()) own.rows.narrow(0, 0, w).add_(halo.left);
  if (halo.right.defined()) own.rows.narrow(0, n - w, w).add_(halo.right);
  return {own.tensor(0).to(type), own.tensor(1).to(type)};
}

/// [B count, 1, b, keys]: 0 where a query sees a key, else minus infinity. Queries beyond the last token,
/// which nobody asks for, see some.
at::Tensor mask_of(const Blocks& blocks, const TokenMessages& ranks, std::int64_t batch,
                   const at::TensorOptions& options) {
  const at::TensorOptions whole = options.dtype(at::kLong);
  const at::Tensor first = at::arange(blocks.count, whole).mul_(blocks.block).view({-1, 1, 1});
  const at::Tensor query = at::arange(blocks.block, whole).view({1, -1, 1});
  const at::Tensor key = at::arange(blocks.keys, whole).view({1, 1, -1});
  const at::Tensor place = first + key + (ranks.own().begin - blocks.window);  // among all tokens
  const at::Tensor near = (key >= query).logical_and_(key <= query + 2 * blocks.window);
  const at::Tensor is_there =
      (place >= 0).logical_and_(place < ranks.all()).logical_or(first + query >= blocks.tokens);
  // Rows that do not begin at a multiple of kMaskStep would be copied, and kept, for each block of the model.
  const std::int64_t row = (blocks.keys + kMaskStep - 1) / kMaskStep * kMaskStep;
  const at::Tensor mask = at::zeros({blocks.count, blocks.block, row}, options);
  mask.narrow(2, 0, blocks.keys)
      .masked_fill_(near.logical_and(is_there).logical_not_(), -std::numeric_limits<double>::infinity());
  return mask.unsqueeze(0)
      .expand({batch, -1, -1, -1})
      .reshape({batch * blocks.count, 1, blocks.block, row})
      .narrow(3, 0, blocks.keys);
}

bool fits(const at::Tensor& mask, const Blocks& blocks, const at::Tensor& q) {
  return mask.defined() && mask.size(0) == q.size(0) * blocks.count &&
         mask.scalar_type() == q.scalar_type() && mask.device() == q.device();
}

}  // namespace

at::Tensor attend_window(const TokenRanks& ranks, TokenWindow& window, const at::Tensor& q,
                         const at::Tensor& k, const at::Tensor& v) {
  const Blocks blocks{.window = window.tokens, .tokens = q.size(2)};
  const std::int64_t batch = q.size(0), heads = q.size(1), size = q.size(3);
  const auto [keys, values] =
      with_gradient({k, v}, {},
                    {.forward = [&](const TensorPair& own) { return to_blocks(*ranks, blocks, own); },
                     .backward = [ranks, blocks, batch](
                                     const std::vector<at::Tensor>&,
                                     const TensorPair& d) { return from_blocks(*ranks, blocks, d, batch); }});
  const std::int64_t all = blocks.count * blocks.block;
  const at::Tensor by_token =
      at::constant_pad_nd(q.transpose(1, 2), {0, 0, 0, 0, 0, all - blocks.tokens});  // [B, all, h, d]
  const at::Tensor queries =
      by_token.reshape({batch * blocks.count, blocks.block, heads, size}).transpose(1, 2);
  if (!fits(window.mask, blocks, q))
    window.mask = mask_of(blocks, *ranks, batch, q.options().requires_grad(false));
  return at::scaled_dot_product_attention(queries, keys, values, window.mask)
      .transpose(1, 2)
      .reshape({batch, all, heads, size})
      .narrow(1, 0, blocks.tokens)
      .transpose(1, 2);
}

}  // namespace isobar
