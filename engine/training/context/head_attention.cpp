#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "context/token_rows.h"
#include "context/ways.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

/// Tensors [B, h, n, d] of the own tokens -> rows of all tokens with h / c heads.
TokenRows to_heads(TokenMessages& ranks, const std::vector<at::Tensor>& own, std::string_view what) {
  const at::Tensor& first = own.front();
  const std::int64_t c = ranks.count(), batch = first.size(0), tokens = first.size(2), size = first.size(3);
  const std::int64_t heads = first.size(1) / c, tensors = static_cast<std::int64_t>(own.size());
  const at::Tensor pieces =
      at::empty({c, tokens, tensors, batch, heads, size}, first.options().requires_grad(false));
  for (std::int64_t i = 0; i < tensors; ++i) {
    const at::Tensor by_rank =
        own[static_cast<std::size_t>(i)].unflatten(1, {c, heads});  // [B, c, h/c, n, d]
    pieces.select(2, i).copy_(by_rank.permute({1, 3, 0, 2, 4}));
  }
  return {.rows = ranks.to_each(pieces.view({c, tokens, -1}), what),
          .tensors = tensors,
          .batch = batch,
          .heads = heads,
          .head_size = size};
}

/// The way back.
std::vector<at::Tensor> to_tokens(TokenMessages& ranks, const TokenRows& all, std::string_view what) {
  const std::int64_t c = ranks.count(), tokens = ranks.own().count;
  const at::Tensor pieces =
      ranks.from_each(all.rows, what).view({c, tokens, all.tensors, all.batch, all.heads, all.head_size});
  std::vector<at::Tensor> out;
  for (std::int64_t i = 0; i < all.tensors; ++i)
    out.push_back(pieces.select(2, i)
                      .permute({2, 1, 0, 3, 4})  // [B, n, c, h/c, d]
                      .reshape({all.batch, tokens, c * all.heads, all.head_size})
                      .transpose(1, 2));
  return out;
}

}  // namespace

at::Tensor attend_heads(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v) {
  const std::vector<at::Tensor> all = with_gradient(
      TensorTriple{q, k, v},
      {.forward = [&](const TensorTriple& own) -> TripleResults {
         const TokenRows rows = to_heads(*ranks, {own.begin(), own.end()}, ranks->tracks().forward);
         return {.results = {rows.tensor(0), rows.tensor(1), rows.tensor(2)}, .kept = {}};
       },
       .backward =
           [ranks](const std::vector<at::Tensor>&, const std::vector<at::Tensor>& d) {
             const std::vector<at::Tensor> own = to_tokens(*ranks, rows_of(d), ranks->tracks().backward);
             return TensorTriple{own[0], own[1], own[2]};
           }});
  return with_gradient(at::scaled_dot_product_attention(all[0], all[1], all[2]),
                       {.forward =
                            [&](const at::Tensor& out) {
                              return to_tokens(*ranks, rows_of({out}), ranks->tracks().forward).front();
                            },
                        .backward =
                            [ranks](const at::Tensor& dy) {
                              return to_heads(*ranks, {dy}, ranks->tracks().backward).tensor(0);
                            }});
}

}  // namespace isobar
