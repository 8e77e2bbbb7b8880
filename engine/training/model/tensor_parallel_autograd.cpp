// What enter, leave and unite are forward and backward.
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "model/tensor_parallel.h"

namespace isobar {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Gradients = torch::autograd::variable_list;
using RanksPointer = std::shared_ptr<ModelRanks>;

/// What a node of the graph keeps between forward and backward.
struct Keeper : torch::CustomClassHolder {
  explicit Keeper(RanksPointer pointer) : ranks(std::move(pointer)) {}
  RanksPointer ranks;
};

void keep(AutogradContext* context, const RanksPointer& ranks) {
  context->saved_data["ranks"] = at::IValue::make_capsule(
      c10::static_intrusive_pointer_cast<torch::CustomClassHolder>(c10::make_intrusive<Keeper>(ranks)));
}

RanksPointer kept(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<Keeper>(context->saved_data["ranks"].toCapsule())->ranks;
}

/// A gradient to add up in place: a copy, since others may hold `dy`, of the type in which it is summed.
at::Tensor own_copy(const at::Tensor& dy, const ModelRanks& ranks) {
  const at::ScalarType type = ranks.sums_in_float() ? at::kFloat : dy.scalar_type();
  return dy.to(dy.options().dtype(type), /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
}

/// f: identity forward, all-reduce backward.
struct CopyToRanks : Function<CopyToRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return x.view_as(x);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    const RanksPointer ranks = kept(context);
    const at::Tensor sum = own_copy(dy[0], *ranks);
    ranks->all_reduce(sum, kBackwardTrack);
    return {sum.to(dy[0].scalar_type()), at::Tensor()};
  }
};

/// g: all-reduce forward, identity backward. In place: what a layer has just written is nobody else's.
struct ReduceFromRanks : Function<ReduceFromRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    context->mark_dirty({x});
    ranks->all_reduce(x, kForwardTrack);
    return x;
  }

  static Gradients backward(AutogradContext*, const Gradients& dy) { return {dy[0], at::Tensor()}; }
};

/// f with shared tokens: all-gather forward, reduce-scatter backward.
struct GatherToRanks : Function<GatherToRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return ranks->all_gather(x, kForwardTrack);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    const RanksPointer ranks = kept(context);
    const at::ScalarType type = ranks->sums_in_float() ? at::kFloat : dy[0].scalar_type();
    return {ranks->reduce_scatter(dy[0].to(type), kBackwardTrack).to(dy[0].scalar_type()), at::Tensor()};
  }
};

/// g with shared tokens: reduce-scatter forward, all-gather backward.
struct ScatterFromRanks : Function<ScatterFromRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return ranks->reduce_scatter(x, kForwardTrack);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {kept(context)->all_gather(dy[0].contiguous(), kBackwardTrack), at::Tensor()};
  }
};

/// All-gather forward; backward every rank has the whole gradient already and takes its share.
struct UniteTokens : Function<UniteTokens> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return ranks->all_gather(x, kForwardTrack);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {kept(context)->own_tokens(dy[0]), at::Tensor()};
  }
};

}  // namespace

constinit Seam<seams::MovesTensor> seams::enter{
    [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
      return CopyToRanks::apply(x, ranks);
    }};
constinit Seam<seams::MovesTensor> seams::leave{
    [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
      return ReduceFromRanks::apply(x, ranks);
    }};

TensorParallel::TensorParallel(Comm& comm, const Config& config) {
  if (comm.size() > 1) ranks_ = std::make_shared<ModelRanks>(comm, config);
}

at::Tensor ModelRanks::enter(const at::Tensor& x) {
  return shares_tokens() ? GatherToRanks::apply(x, shared_from_this()) : seams::enter(shared_from_this(), x);
}

at::Tensor ModelRanks::leave(const at::Tensor& x) {
  return shares_tokens() ? ScatterFromRanks::apply(x, shared_from_this())
                         : seams::leave(shared_from_this(), x);
}

at::Tensor ModelRanks::unite(const at::Tensor& x) { return UniteTokens::apply(x, shared_from_this()); }

}  // namespace isobar
