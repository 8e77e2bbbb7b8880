#include "fused/functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/error.h"
#include "fused/weight_gradients.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using Gradients = torch::autograd::variable_list;

/// With create_graph autograd would record what backward does, and the kernels' part would be missing in it.
void refuse_second_derivative(const char* operation) {
  if (!at::GradMode::is_enabled()) return;
  throw Error("a fused operation cannot be differentiated twice", operation,
              "the plain model (all keys of [fusion] false) can", Exit::failed);
}

std::optional<at::Tensor> optional_of(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// Adds dy^T x to the gradient of `leaf`. Undefined when it has a place of its own and took it there, else it
/// is what autograd gets.
at::Tensor weight_gradient(const at::Tensor& leaf, const at::Tensor& dy, const at::Tensor& x) {
  at::Tensor place = leaf.grad();
  if (!place.defined() || place.scalar_type() != at::kFloat)
    return dy.t().mm(x).to(leaf.scalar_type()).view(leaf.sizes());
  place = place.view({dy.size(1), x.size(1)});
  if (dy.scalar_type() == at::kFloat) {
    place.addmm_(dy.t(), x);
  } else {
    place.add_(dy.t().mm(x));
  }
  return {};
}

/// What a node of the graph keeps until it goes, beside tensors.
template <class T>
struct Held : torch::CustomClassHolder {
  explicit Held(T of) : value(std::move(of)) {}
  T value;
};

template <class T>
void hold(AutogradContext* context, const char* name, T value) {
  context->saved_data[name] =
      at::IValue::make_capsule(c10::static_intrusive_pointer_cast<torch::CustomClassHolder>(
          c10::make_intrusive<Held<T>>(std::move(value))));
}

template <class T>
c10::intrusive_ptr<Held<T>> held(AutogradContext* context, const char* name) {
  return c10::static_intrusive_pointer_cast<Held<T>>(context->saved_data[name].toCapsule());
}

at::Tensor bias_gradient(const at::Tensor& dy) {
  return dy.sum(at::IntArrayRef{0}, /*keepdim=*/false, at::kFloat);
}

/// Who adds up a layer's gradients behind backward.
struct Later {
  std::shared_ptr<WeightGradients> queue;
  std::optional<at::Tensor> bias;
};

/// Adds to the gradient of `leaf`, as autograd does.
void add_gradient(const at::Tensor& leaf, const at::Tensor& gradient) {
  at::Tensor& place = leaf.mutable_grad();
  if (place.defined())
    place.add_(gradient);
  else
    place = gradient;
}

struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& leaf,
                            const at::Tensor& values, const std::optional<at::Tensor>& bias_leaf,
                            const std::optional<at::Tensor>& bias, const LinearForm& form) {
    context->save_for_backward({form.input ? form.input->from : x, leaf, values});
    context->saved_data["has_bias"] = bias_leaf.has_value();
    if (form.input) hold(context, "remade", form.input->value);
    if (PutOff::later() && !form.input) hold(context, "later", Later{PutOff::later(), bias_leaf});
    if (!form.value_wanted) return at::empty_strided({x.size(0), values.size(0)}, {0, 0}, x.options());
    return bias ? at::addmm(*bias, x, values.t()) : at::mm(x, values.t());
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy_list) {
    refuse_second_derivative("linear");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& dy = dy_list[0];
    const bool is_remade = context->saved_data.count("remade") > 0;
    Gradients out(6);
    // What is made again goes before the gradient of the input, which is as large, is there.
    const bool has_bias = context->saved_data["has_bias"].toBool();
    if (context->saved_data.count("later") > 0) {
      const auto later = held<Later>(context, "later");
      later->value.queue->put_off({saved[1], later->value.bias.value_or(at::Tensor()), dy, saved[0]});
      if (context->needs_input_grad(0)) out[0] = dy.mm(saved[2]);
      return out;
    }
    const auto of_weight = [&] {
      out[1] = weight_gradient(
          saved[1], dy,
          is_remade ? held<std::shared_ptr<RemadeValue>>(context, "remade")->value->take(saved[0])
                    : saved[0]);
    };
    if (is_remade) of_weight();
    if (context->needs_input_grad(0)) out[0] = dy.mm(saved[2]);
    if (!is_remade) of_weight();
    if (has_bias) out[3] = bias_gradient(dy);
    return out;
  }
};

struct EmbedFunction : Function<EmbedFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& patches, const at::Tensor& leaf,
                            const at::Tensor& values, const at::Tensor& bias, const at::Tensor& positions) {
    // Fields of a data set want no gradient, forecasts of a rollout do.
    context->save_for_backward({patches, leaf, patches.requires_grad() ? values : at::Tensor()});
    if (PutOff::later()) hold(context, "later", Later{PutOff::later(), {}});
    context->saved_data["tokens"] = positions.size(1);
    const at::Tensor tokens = patches.mm(values.t()).view({-1, positions.size(1), positions.size(2)});
    return (tokens + (positions + bias)).view({patches.size(0), positions.size(2)});
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy_list) {
    refuse_second_derivative("embed_patches");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& patches = saved[0];
    const at::Tensor& dy = dy_list[0];
    const at::Tensor& leaf = saved[1];
    Gradients out(5);
    const at::Tensor of_product = dy.to(patches.scalar_type());
    if (context->needs_input_grad(0)) out[0] = of_product.mm(saved[2]);
    if (context->saved_data.count("later") > 0)
      held<Later>(context, "later")->value.queue->put_off({leaf, {}, of_product, patches});
    else
      out[1] = weight_gradient(leaf, of_product, patches);
    const std::int64_t tokens = context->saved_data["tokens"].toInt();
    out[4] = dy.view({-1, tokens, dy.size(1)}).sum(at::IntArrayRef{0}, /*keepdim=*/true);
    out[3] = out[4].sum(at::IntArrayRef{0, 1});
    return out;
  }
};

struct SplitFunction : Function<SplitFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& qkv, std::int64_t batch,
                               std::int64_t heads) {
    context->set_materialize_grads(true);
    const at::Tensor parts =
        qkv.view({batch, qkv.size(0) / batch, 3, heads, qkv.size(1) / 3 / heads}).permute({2, 0, 3, 1, 4});
    return {parts.select(0, 0), parts.select(0, 1), parts.select(0, 2)};
  }

  static Gradients backward(AutogradContext*, const Gradients& dy) {
    refuse_second_derivative("split_heads");
    std::array<at::Tensor, 3> rows;  // [B, h, N, E/h] -> [B N, E]
    for (std::size_t i = 0; i < 3; ++i) {
      const at::Tensor by_token = dy[i].transpose(1, 2);
      rows[i] = by_token.reshape({by_token.size(0) * by_token.size(1), by_token.size(2) * by_token.size(3)});
    }
    // In libtorch 2.11 only the CPU's form can write into a given place, by a stub that its operator hides;
    // flash's mha_bwd is declared but not exported, and what calls cuDNN has no header.
    return {at::cat({rows[0], rows[1], rows[2]}, 1), at::Tensor(), at::Tensor()};
  }
};

struct BiasGeluFunction : Function<BiasGeluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& bias,
                            bool tanh) {
    context->save_for_backward({x, bias});
    context->saved_data["tanh"] = tanh;
    return bias_gelu(x, bias, tanh);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    refuse_second_derivative("bias_gelu");
    const variable_list saved = context->get_saved_variables();
    BiasGeluGradients out =
        bias_gelu_backward(saved[0], saved[1], dy[0].contiguous(), context->saved_data["tanh"].toBool());
    return {out.x, out.bias, at::Tensor()};
  }
};

/// What both forms of the norm do behind the kernel; saved: sum, mean, rstd, weight.
ResidualNormGradients norm_backward(AutogradContext* context, const Gradients& gradients, bool wants_a,
                                    bool wants_branch_bias) {
  const variable_list saved = context->get_saved_variables();
  const ResidualNorm forward{saved[0], {}, saved[1], saved[2]};
  const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
  const at::Tensor dsum = gradients[0].defined() ? gradients[0].contiguous() : at::Tensor();
  const at::Tensor dy = gradients[1].defined() ? gradients[1].contiguous()
                                               : at::zeros(saved[0].sizes(), saved[0].options().dtype(type));
  return residual_norm_backward(forward, saved[3], dy, dsum, wants_a, wants_branch_bias);
}

variable_list keep(AutogradContext* context, const ResidualNorm& out, const at::Tensor& weight) {
  context->save_for_backward({out.sum, out.mean, out.rstd, weight});
  context->saved_data["type"] = static_cast<std::int64_t>(out.y.scalar_type());
  context->set_materialize_grads(false);
  return {out.sum, out.y};
}

struct ResidualNormFunction : Function<ResidualNormFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& a,
                               const std::optional<at::Tensor>& branch_bias, const at::Tensor& weight,
                               const at::Tensor& bias, double eps) {
    context->saved_data["has_branch_bias"] = branch_bias.has_value();
    const at::Tensor added = branch_bias ? *branch_bias : at::Tensor();
    return keep(context, residual_norm(x, a, added, {weight, bias, eps}, a.scalar_type()), weight);
  }

  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    refuse_second_derivative("residual_norm");
    const bool has_branch_bias = context->saved_data["has_branch_bias"].toBool();
    ResidualNormGradients out = norm_backward(context, gradients, /*wants_a=*/true, has_branch_bias);
    return {out.x, out.a, out.branch_bias, out.weight, out.bias, at::Tensor()};
  }
};

struct SumFunction : Function<SumFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& a,
                            const std::optional<at::Tensor>& branch_bias) {
    context->saved_data["has_branch_bias"] = branch_bias.has_value();
    context->saved_data["type"] = static_cast<std::int64_t>(a.scalar_type());
    return x + (branch_bias ? a.to(at::kFloat) + *branch_bias : a.to(at::kFloat));
  }

  /// What the kernel of the norm does with a gradient that reaches the sum beside a norm without any.
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    refuse_second_derivative("sum");
    const at::Tensor dsum = gradients[0].contiguous();
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    if (!context->saved_data["has_branch_bias"].toBool()) return {dsum, dsum.to(type), at::Tensor()};
    const at::Tensor no_rows = at::zeros({dsum.size(0)}, dsum.options());
    const ResidualNormGradients out =
        residual_norm_backward({dsum, {}, no_rows, no_rows}, at::zeros({dsum.size(1)}, dsum.options()),
                               at::zeros(dsum.sizes(), dsum.options().dtype(type)), dsum, /*wants_a=*/true,
                               /*wants_branch_bias=*/true);
    return {out.x, out.a, out.branch_bias};
  }
};

struct NormFunction : Function<NormFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& bias, double eps, std::int64_t type) {
    const NormParameters norm{weight, bias, eps};
    return keep(context, residual_norm(x, {}, {}, norm, static_cast<at::ScalarType>(type)), weight);
  }

  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    refuse_second_derivative("norm");
    ResidualNormGradients out =
        norm_backward(context, gradients, /*wants_a=*/false, /*wants_branch_bias=*/false);
    return {out.x, out.weight, out.bias, at::Tensor(), at::Tensor()};
  }
};

struct HeadLossFunction : Function<HeadLossFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tokens, const at::Tensor& target,
                            std::int64_t patch) {
    const HeadLoss out = head_loss(tokens, target, patch);
    context->save_for_backward({tokens, target, out.sums});
    context->saved_data["patch"] = patch;
    return out.loss;
  }

  static Gradients backward(AutogradContext* context, const Gradients& dloss) {
    refuse_second_derivative("head_loss");
    const variable_list saved = context->get_saved_variables();
    return {head_loss_backward(saved[0], saved[1], saved[2], dloss[0].to(at::kFloat),
                               context->saved_data["patch"].toInt()),
            at::Tensor(), at::Tensor()};
  }
};

struct CallsFunction : Function<CallsFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const WithGradient& calls) {
    hold(context, "backward", calls.backward);
    if (calls.in_place) context->mark_dirty({x});
    return calls.forward(x);
  }

  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {held<WithGradient::Call>(context, "backward")->value(dy[0]), at::Tensor()};
  }
};

struct TripleFunction : Function<TripleFunction> {
  static variable_list forward(AutogradContext* context, const at::Tensor& first, const at::Tensor& second,
                               const std::optional<at::Tensor>& third, const TripleWithGradient& calls) {
    TripleResults out = calls.forward({first, second, third.value_or(at::Tensor())});
    context->save_for_backward(std::move(out.kept));
    context->set_materialize_grads(false);
    hold(context, "backward", calls.backward);
    return std::move(out.results);
  }

  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    refuse_second_derivative("recomputed, or attention over ranks");
    const auto call = held<decltype(TripleWithGradient::backward)>(context, "backward");
    const TensorTriple out = call->value(context->get_saved_variables(), gradients);
    return {out[0], out[1], out[2], at::Tensor()};
  }
};

}  // namespace

at::Tensor with_gradient(const at::Tensor& x, const WithGradient& calls) {
  return CallsFunction::apply(x, calls);
}

std::vector<at::Tensor> with_gradient(const TensorTriple& inputs, const TripleWithGradient& calls) {
  return TripleFunction::apply(inputs[0], inputs[1], optional_of(inputs[2]), calls);
}

void WeightGradients::run() {
  const at::NoGradGuard no_grad;
  for (Layer& layer : std::exchange(layers_, {})) {
    const at::Tensor left = weight_gradient(layer.weight, layer.dy, layer.x);
    if (left.defined()) add_gradient(layer.weight, left);
    if (layer.bias.defined()) add_gradient(layer.bias, bias_gradient(layer.dy));
    layer = {};
  }
}

at::Tensor linear(const at::Tensor& x, const Weight& weight, const Weight& bias, const LinearForm& form) {
  return LinearFunction::apply(x, weight.leaf, weight.values, optional_of(bias.leaf),
                               optional_of(bias.values), form);
}

at::Tensor embed_patches(const at::Tensor& patches, const Weight& weight, const at::Tensor& bias,
                         const at::Tensor& positions) {
  return EmbedFunction::apply(patches, weight.leaf, weight.values, bias, positions);
}

std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv, std::int64_t batch, std::int64_t heads) {
  const variable_list parts = SplitFunction::apply(qkv, batch, heads);
  return {parts[0], parts[1], parts[2]};
}

at::Tensor fused_bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh) {
  return BiasGeluFunction::apply(x, bias, tanh);
}

Normed fused_residual_norm(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias,
                           const NormParameters& norm) {
  const variable_list out =
      ResidualNormFunction::apply(x, a, optional_of(branch_bias), norm.weight, norm.bias, norm.eps);
  return {out[0], out[1]};
}

at::Tensor fused_sum(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias) {
  return SumFunction::apply(x, a, optional_of(branch_bias));
}

Normed fused_norm(const at::Tensor& x, const NormParameters& norm, at::ScalarType type) {
  const variable_list out =
      NormFunction::apply(x, norm.weight, norm.bias, norm.eps, static_cast<std::int64_t>(type));
  return {out[0], out[1]};
}

at::Tensor fused_head_loss(const at::Tensor& tokens, const at::Tensor& target, std::int64_t patch) {
  return HeadLossFunction::apply(tokens, target, patch);
}

}  // namespace isobar
