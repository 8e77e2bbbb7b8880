#include "model/tensor_parallel.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "core/fault.h"
#include "model/tensor_parallel_ranks.h"

namespace isobar {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Gradients = torch::autograd::variable_list;
using Ranks = TensorParallel::Ranks;
using RanksPointer = std::shared_ptr<Ranks>;

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
at::Tensor own_copy(const at::Tensor& dy, const Ranks& ranks) {
  const at::ScalarType type = ranks.sums_in_float() ? at::kFloat : dy.scalar_type();
  return dy.to(dy.options().dtype(type), /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
}

/// This rank's tokens, a view.
at::Tensor own_tokens(const at::Tensor& x, const Ranks& ranks) {
  const std::int64_t rows = x.size(0) / ranks.count();
  return x.narrow(0, ranks.index() * rows, rows);
}

/// f: identity forward, all-reduce backward.
struct CopyToRanks : Function<CopyToRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return x.view_as(x);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    if (has_fault(Fault::no_copy_f)) return {dy[0], at::Tensor()};
    const RanksPointer ranks = kept(context);
    const at::Tensor sum = own_copy(dy[0], *ranks);
    ranks->all_reduce(sum, kBackward);
    return {sum.to(dy[0].scalar_type()), at::Tensor()};
  }
};

/// g: all-reduce forward, identity backward. In place: what a layer has just written is nobody else's.
struct ReduceFromRanks : Function<ReduceFromRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    context->mark_dirty({x});
    ranks->all_reduce(has_fault(Fault::noncontiguous_reduce) ? x.clone() : x, kForward);
    return x;
  }

  static Gradients backward(AutogradContext*, const Gradients& dy) { return {dy[0], at::Tensor()}; }
};

/// f with shared tokens: all-gather forward, reduce-scatter backward.
struct GatherToRanks : Function<GatherToRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return ranks->all_gather(x, kForward);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    const RanksPointer ranks = kept(context);
    if (has_fault(Fault::no_copy_f)) return {own_tokens(dy[0], *ranks), at::Tensor()};
    const at::ScalarType type = ranks->sums_in_float() ? at::kFloat : dy[0].scalar_type();
    return {ranks->reduce_scatter(dy[0].to(type), kBackward).to(dy[0].scalar_type()), at::Tensor()};
  }
};

/// g with shared tokens: reduce-scatter forward, all-gather backward.
struct ScatterFromRanks : Function<ScatterFromRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    if (!has_fault(Fault::noncontiguous_reduce)) return ranks->reduce_scatter(x, kForward);
    return own_tokens(x, *ranks).clone();
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {kept(context)->all_gather(dy[0].contiguous(), kBackward), at::Tensor()};
  }
};

/// All-gather forward; backward every rank has the whole gradient already and takes its share.
struct UniteTokens : Function<UniteTokens> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const RanksPointer& ranks) {
    keep(context, ranks);
    return ranks->all_gather(x, kForward);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {own_tokens(dy[0], *kept(context)), at::Tensor()};
  }
};

}  // namespace

TensorParallel::TensorParallel(Comm& comm, const Config& config) {
  if (comm.size() > 1) ranks_ = std::make_shared<Ranks>(comm, config);
}

int TensorParallel::count() const { return ranks_ ? ranks_->count() : 1; }
int TensorParallel::index() const { return ranks_ ? ranks_->index() : 0; }
bool TensorParallel::shares_tokens() const { return ranks_ && ranks_->shares_tokens(); }

at::Tensor TensorParallel::enter(const at::Tensor& x) const {
  if (!ranks_) return x;
  return shares_tokens() ? GatherToRanks::apply(x, ranks_) : CopyToRanks::apply(x, ranks_);
}

at::Tensor TensorParallel::leave(const at::Tensor& x) const {
  if (!ranks_) return x;
  return shares_tokens() ? ScatterFromRanks::apply(x, ranks_) : ReduceFromRanks::apply(x, ranks_);
}

at::Tensor TensorParallel::share(const at::Tensor& x) const {
  return shares_tokens() ? own_tokens(x, *ranks_) : x;
}

at::Tensor TensorParallel::unite(const at::Tensor& x) const {
  return shares_tokens() ? UniteTokens::apply(x, ranks_) : x;
}

void TensorParallel::sum_partial_gradients(Parameters& parameters) const {
  if (!shares_tokens()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.sums_over_tp) parts.push_back(parameter.tensor.grad().view(-1));
  }
  const at::Tensor message = at::cat(parts);
  ranks_->all_reduce(message, "tp partial gradients");
  std::int64_t begin = 0;
  for (at::Tensor& part : parts) {
    part.copy_(message.narrow(0, begin, part.numel()));
    begin += part.numel();
  }
}

void TensorParallel::sum(const at::Tensor& contribution) const {
  if (ranks_) ranks_->all_reduce(contribution, "tp gradient norm");
}

TensorParallelFigures TensorParallel::take_figures() const {
  return ranks_ ? ranks_->take_figures() : TensorParallelFigures{};
}

}  // namespace isobar
