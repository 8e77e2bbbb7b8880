#include <utility>

#include "context/block_attention.h"
#include "context/token_rows.h"
#include "context/ways.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

/// Whose tokens this rank has behind `shifts` shifts.
int holder(const TokenMessages& ranks, int shifts) {
  return (ranks.index() + ranks.count() - shifts) % ranks.count();
}

/// Calls `use(s, rows)` with the keys and values of each rank, own ones first, while the next ones are on
/// their way.
template <class Use>
void pass_round(TokenMessages& ranks, const TokenRows& own, std::string_view what, const Use& use) {
  TokenRows here = own;
  for (int shifts = 0; shifts < ranks.count(); ++shifts) {
    RankMessages::Moving next;
    const bool more = shifts + 1 < ranks.count();
    if (more) next = ranks.start_shift(here.rows, holder(ranks, shifts), what);
    use(shifts, here);
    if (more) here = own.with(ranks.finish(std::move(next)));
  }
}

TripleResults ring_forward(TokenMessages& ranks, AttentionKind kind, const TensorTriple& own) {
  const auto& [q, k, v] = own;
  RunningSoftmax sum;
  pass_round(ranks, rows_of({k, v}), ranks.tracks().forward, [&, &queries = q](int, const TokenRows& rows) {
    sum.add(attend_block(kind, queries, rows.tensor(0), rows.tensor(1)));
  });
  const AttendedBlock out = sum.result(q.scalar_type());
  return {.results = {out.out}, .kept = {q, k, v, out.out, out.log_sum}};
}

/// The gradients of keys and values follow these from the rank behind their own one to their own one, and get
/// each rank's part on the way. The own part stays here.
TensorTriple ring_backward(TokenMessages& ranks, AttentionKind kind, const std::vector<at::Tensor>& kept,
                           const at::Tensor& dy) {
  const at::Tensor& q = kept[0];
  const std::string_view what = ranks.tracks().backward;
  const at::ScalarType type = q.scalar_type();
  const at::ScalarType travels = ranks.sums_in_float() ? at::kFloat : type;
  at::Tensor dq;
  TokenRows own;
  RankMessages::Moving sums;
  pass_round(ranks, rows_of({kept[1], kept[2]}), what, [&](int shifts, const TokenRows& rows) {
    const TensorTriple d = attend_block_back(kind, dy, {q, rows.tensor(0), rows.tensor(1)},
                                             {.out = kept[3], .log_sum = kept[4]});
    const TokenRows part = rows_of({d[1], d[2]}, travels);
    if (shifts == 0) {
      dq = type == at::kDouble ? d[0] : d[0].to(at::kFloat);
      own = part;
      return;
    }
    dq.add_(d[0]);
    if (shifts > 1) part.rows.add_(ranks.finish(std::move(sums)));
    sums = ranks.start_shift(part.rows, holder(ranks, shifts), what);
  });
  own.rows.add_(ranks.finish(std::move(sums)));
  return {dq.to(type), own.tensor(0).to(type), own.tensor(1).to(type)};
}

}  // namespace

at::Tensor attend_ring(const TokenRanks& ranks, const at::Tensor& q, const at::Tensor& k,
                       const at::Tensor& v) {
  const AttentionKind kind = block_kind(q, k, v);
  return with_gradient(
             TensorTriple{q, k, v},
             {.forward = [&](const TensorTriple& own) { return ring_forward(*ranks, kind, own); },
              .backward =
                  [ranks, kind](const std::vector<at::Tensor>& kept, const std::vector<at::Tensor>& dy) {
                    return ring_backward(*ranks, kind, kept, dy.front());
                  }})
      .front();
}

}  // namespace isobar
