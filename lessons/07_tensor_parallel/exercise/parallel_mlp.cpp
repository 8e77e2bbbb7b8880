// Lesson 07: an MLP that several ranks share: cut, computed, and put together again by f and g.
// exercise.h says what is given and what is promised; ./isobar check 07_tensor_parallel looks at what you
// wrote.
#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>
#include <utility>

#include "07_tensor_parallel/exercise/exercise.h"

namespace isobar::mine {

using exercise::MlpWeights;
using exercise::RankOfModel;
using exercise::SumOverRanks;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Gradients = torch::autograd::variable_list;

// Given, for f: forward and backward share only the context. keep() puts the sum there, kept() takes it out.
struct SumKeeper : torch::CustomClassHolder {
  explicit SumKeeper(SumOverRanks kept) : sum(std::move(kept)) {}
  SumOverRanks sum;
};

void keep(AutogradContext* context, const SumOverRanks& sum) {
  const auto keeper = c10::make_intrusive<SumKeeper>(sum);
  context->saved_data["sum"] =
      at::IValue::make_capsule(c10::static_intrusive_pointer_cast<torch::CustomClassHolder>(keeper));
}

SumOverRanks kept(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<SumKeeper>(context->saved_data["sum"].toCapsule())->sum;
}

MlpWeights cut_mlp(const MlpWeights& whole, const RankOfModel& rank) {
  // BEGIN Refuse what cannot be cut evenly; give this rank its hidden units of w1, b1 and w2.
  //> return whole;
  const std::int64_t hidden = whole.w1.size(0);
  if (hidden % rank.count != 0)
    throw std::invalid_argument(std::to_string(hidden) + " hidden units on " + std::to_string(rank.count) +
                                " ranks");
  const std::int64_t units = hidden / rank.count;
  const std::int64_t first = rank.index * units;
  return {whole.w1.narrow(0, first, units), whole.b1.narrow(0, first, units),
          whole.w2.narrow(1, first, units), whole.b2};
  // END
}

struct Enter : Function<Enter> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const SumOverRanks& sum) {
    keep(context, sum);
    // BEGIN What f does forward.
    //> return at::zeros_like(x);
    return x.view_as(x);
    // END
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    const SumOverRanks sum = kept(context);
    // BEGIN What f does backward: one gradient for each argument of forward; sum has none.
    //> return {at::zeros_like(dy[0]), at::Tensor()};
    return {sum(dy[0]), at::Tensor()};
    // END
  }
};

struct Leave : Function<Leave> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& part, const SumOverRanks& sum) {
    // BEGIN What g does forward.
    //> return at::zeros_like(part);
    return sum(part);
    // END
  }

  static Gradients backward(AutogradContext*, const Gradients& dy) {
    // BEGIN What g does backward.
    //> return {at::zeros_like(dy[0]), at::Tensor()};
    return {dy[0], at::Tensor()};
    // END
  }
};

at::Tensor enter(const at::Tensor& x, const RankOfModel& rank) {
  // BEGIN Enter::apply(x, rank.sum) is f. Is it one rank alone, too?
  //> return Enter::apply(x, rank.sum);
  return rank.count == 1 ? x : Enter::apply(x, rank.sum);
  // END
}

at::Tensor leave(const at::Tensor& part, const RankOfModel& rank) {
  // BEGIN Leave::apply(part, rank.sum) is g. Is it one rank alone, too?
  //> return Leave::apply(part, rank.sum);
  return rank.count == 1 ? part : Leave::apply(part, rank.sum);
  // END
}

at::Tensor parallel_mlp(const at::Tensor& x, const MlpWeights& own, const RankOfModel& rank) {
  // BEGIN The page's formula for y; at::linear(x, w, b) is x w^T + b, and b may be left out.
  //> return x;
  const at::Tensor hidden = at::gelu(at::linear(enter(x, rank), own.w1, own.b1));
  return leave(at::linear(hidden, own.w2), rank) + own.b2;
  // END
}

}  // namespace isobar::mine
