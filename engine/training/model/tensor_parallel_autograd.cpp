// What enter, leave and unite are forward and backward.
#include "fused/with_gradient.h"
#include "model/tensor_parallel.h"

namespace isobar {
namespace {

/// A gradient to add up in place: a copy, since others may hold `dy`, of the type in which it is summed.
at::Tensor own_copy(const at::Tensor& dy, const ModelRanks& ranks) {
  const at::ScalarType type = ranks.sums_in_float() ? at::kFloat : dy.scalar_type();
  return dy.to(dy.options().dtype(type), /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
}

/// How a tensor moves between the ranks, and its gradient.
struct Movement {
  at::Tensor (*forward)(ModelRanks& ranks, const at::Tensor& x);
  at::Tensor (*backward)(ModelRanks& ranks, const at::Tensor& dy);
  bool in_place = false;  ///< forward writes into x
};

at::Tensor moved(const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x, const Movement& movement) {
  return with_gradient(x, {[&](const at::Tensor& values) { return movement.forward(*ranks, values); },
                           [ranks, &movement](const at::Tensor& dy) { return movement.backward(*ranks, dy); },
                           movement.in_place});
}

at::Tensor view_of(ModelRanks&, const at::Tensor& x) { return x.view_as(x); }

at::Tensor unchanged(ModelRanks&, const at::Tensor& dy) { return dy; }

at::Tensor sum_in_place(ModelRanks& ranks, const at::Tensor& x) {
  ranks.all_reduce(x, kForwardTrack);
  return x;
}

at::Tensor sum_back(ModelRanks& ranks, const at::Tensor& dy) {
  const at::Tensor sum = own_copy(dy, ranks);
  ranks.all_reduce(sum, kBackwardTrack);
  return sum.to(dy.scalar_type());
}

at::Tensor gather(ModelRanks& ranks, const at::Tensor& x) { return ranks.all_gather(x, kForwardTrack); }

at::Tensor gather_back(ModelRanks& ranks, const at::Tensor& dy) {
  return ranks.all_gather(dy.contiguous(), kBackwardTrack);
}

at::Tensor scatter(ModelRanks& ranks, const at::Tensor& x) { return ranks.reduce_scatter(x, kForwardTrack); }

at::Tensor scatter_back(ModelRanks& ranks, const at::Tensor& dy) {
  const at::ScalarType type = ranks.sums_in_float() ? at::kFloat : dy.scalar_type();
  return ranks.reduce_scatter(dy.to(type), kBackwardTrack).to(dy.scalar_type());
}

at::Tensor own_share(ModelRanks& ranks, const at::Tensor& dy) { return ranks.own_tokens(dy); }

/// f: identity forward, all-reduce backward.
constexpr Movement kCopyToRanks = {view_of, sum_back};
/// g: all-reduce forward, identity backward. In place: what a layer has just written is nobody else's.
constexpr Movement kReduceFromRanks = {sum_in_place, unchanged, true};
/// f with shared tokens: all-gather forward, reduce-scatter backward.
constexpr Movement kGatherToRanks = {gather, scatter_back};
/// g with shared tokens: reduce-scatter forward, all-gather backward.
constexpr Movement kScatterFromRanks = {scatter, gather_back};
/// All-gather forward; backward every rank has the whole gradient already and takes its share.
constexpr Movement kUniteTokens = {gather, own_share};

}  // namespace

constinit Seam<seams::MovesTensor> seams::enter{
    [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
      return moved(ranks, x, kCopyToRanks);
    }};
constinit Seam<seams::MovesTensor> seams::leave{
    [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
      return moved(ranks, x, kReduceFromRanks);
    }};

ModelRanks::ModelRanks(Comm& comm, const Config& config)
    : RankMessages(comm, config, {kForwardTrack, kBackwardTrack}),
      shares_tokens_(config.mesh.sequence_parallel) {}

TensorParallel::TensorParallel(Comm& comm, const Config& config) {
  if (comm.size() > 1) ranks_ = std::make_shared<ModelRanks>(comm, config);
}

at::Tensor ModelRanks::enter(const at::Tensor& x) {
  return shares_tokens() ? moved(shared_from_this(), x, kGatherToRanks) : seams::enter(shared_from_this(), x);
}

at::Tensor ModelRanks::leave(const at::Tensor& x) {
  return shares_tokens() ? moved(shared_from_this(), x, kScatterFromRanks)
                         : seams::leave(shared_from_this(), x);
}

at::Tensor ModelRanks::unite(const at::Tensor& x) { return moved(shared_from_this(), x, kUniteTokens); }

}  // namespace isobar
