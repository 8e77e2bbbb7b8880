#include <ATen/ops/scaled_dot_product_attention.h>

#include "context/block_attention.h"
#include "context/token_rows.h"
#include "context/ways.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

TensorPair both(const TokenRows& rows) { return {rows.tensor(0), rows.tensor(1)}; }

TokenRows gathered(TokenMessages& ranks, const at::Tensor& k, const at::Tensor& v, std::string_view what) {
  const TokenRows own = rows_of({k, v});
  return own.with(seams::gather_tokens(ranks, own.rows, what));
}

/// Gradients of all keys and values, of which each rank has a part -> those of the own ones.
TensorPair gathered_back(TokenMessages& ranks, const at::Tensor& dk, const at::Tensor& dv) {
  const at::ScalarType type = dk.scalar_type();
  const TokenRows all = rows_of({dk, dv}, ranks.sums_in_float() ? at::kFloat : type);
  const TokenRows own = all.with(seams::gather_tokens_back(ranks, all.rows, ranks.tracks().backward));
  return {own.tensor(0).to(type), own.tensor(1).to(type)};
}

}  // namespace

at::Tensor attend_gathered(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v) {
  const auto [all_k, all_v] =
      with_gradient({k, v}, {},
                    {.forward =
                         [&](const TensorPair& own) {
                           return both(gathered(*ranks, own[0], own[1], ranks->tracks().forward));
                         },
                     .backward = [ranks](const std::vector<at::Tensor>&,
                                         const TensorPair& d) { return gathered_back(*ranks, d[0], d[1]); }});
  return at::scaled_dot_product_attention(q, all_k, all_v);
}

at::Tensor attend_gathered_again(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                                 const at::Tensor& v) {
  const AttentionKind kind = block_kind(q, k, v);
  const auto forward = [&](const TensorTriple& own) -> TripleResults {
    const auto [all_k, all_v] = both(gathered(*ranks, own[1], own[2], ranks->tracks().forward));
    const AttendedBlock out = attend_block(kind, own[0], all_k, all_v);
    return {.results = {out.out}, .kept = {own[0], own[1], own[2], out.out, out.log_sum}};
  };
  const auto backward = [ranks, kind](const std::vector<at::Tensor>& kept,
                                      const std::vector<at::Tensor>& dy) {
    TensorTriple d;
    {
      const auto [all_k, all_v] = both(gathered(*ranks, kept[1], kept[2], ranks->tracks().backward));
      d = attend_block_back(kind, dy[0], {kept[0], all_k, all_v}, {kept[3], kept[4]});
    }
    const auto [dk, dv] = gathered_back(*ranks, d[1], d[2]);
    return TensorTriple{d[0], dk, dv};
  };
  return with_gradient(TensorTriple{q, k, v}, {forward, backward}).front();
}

}  // namespace isobar
