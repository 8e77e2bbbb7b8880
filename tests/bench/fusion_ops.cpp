#include "bench/fusion_ops.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/IListRef.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "fused/functions.h"
#include "fused/operations.h"
#include "kernels/adam.h"
#include "kernels/bias_gelu.h"
#include "kernels/gradient_norm.h"
#include "kernels/head_loss.h"
#include "kernels/residual_norm.h"
#include "model/parameters.h"

namespace isobar {
namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  explicit Sizes(const Json& sheet)
      : batch(sheet["batch"]), embed(sheet["embed"]), heads(sheet["heads"]), vit(shape_of(sheet)) {
    rows = batch * vit.tokens();
  }
  std::int64_t batch, embed, heads, rows = 0;
  VitShape vit;
};

/// Copies of the inputs on the device, as leaves where they want a gradient.
class Inputs {
 public:
  Inputs(const NamedTensors& tensors, c10::Device device, at::ScalarType type)
      : device_(device), type_(type) {
    for (const auto& [name, tensor] : tensors) all_.emplace(name, tensor);
  }
  at::Tensor plain(const std::string& name) const {
    return all_.at(name).to(device_, at::kFloat, false, true);
  }
  at::Tensor typed(const std::string& name) const { return all_.at(name).to(device_, type_, false, true); }
  at::Tensor leaf(const std::string& name) const { return plain(name).requires_grad_(); }
  at::Tensor typed_leaf(const std::string& name) const { return typed(name).requires_grad_(); }
  /// All tensors whose name begins so, end to end.
  at::Tensor flat(const std::string& prefix) const {
    std::vector<at::Tensor> parts;
    for (const auto& [name, tensor] : all_) {
      if (name.starts_with(prefix)) parts.push_back(tensor.flatten());
    }
    return at::cat(parts).to(device_);
  }
  at::ScalarType type() const { return type_; }
  ElementType element() const { return type_ == at::kFloat ? ElementType::f32 : ElementType::bf16; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_of(element())); }

 private:
  c10::Device device_;
  at::ScalarType type_;
  std::map<std::string, at::Tensor> all_;
};

using Variables = std::vector<at::Tensor>;

/// The results, then the gradients of `leaves`.
Variables with_gradients(Variables results, const Variables& leaves, const Variables& given) {
  for (const at::Tensor& gradient : torch::autograd::grad(results, leaves, given))
    results.push_back(gradient);
  return results;
}

FusedOp bias_gelu_op(const Inputs& in, const Sizes& sizes) {
  const at::Tensor x = in.typed_leaf("hidden"), bias = in.leaf("hidden_bias"), dy = in.typed("d_hidden");
  const std::int64_t columns = 4 * sizes.embed;
  return {[=] {
            return with_gradients({fused_bias_gelu(x, bias)}, {x, bias}, {dy});
          },
          moved_bytes(BiasGeluForward{.type = in.element(), .rows = sizes.rows, .columns = columns}) +
              moved_bytes(BiasGeluBackward{.type = in.element(), .rows = sizes.rows, .columns = columns})};
}

FusedOp residual_norm_op(const Inputs& in, const Sizes& sizes) {
  const at::Tensor x = in.leaf("x"), a = in.typed_leaf("branch"), added = in.leaf("branch_bias");
  const NormParameters norm{in.leaf("norm_weight"), in.leaf("norm_bias"), 1e-6};
  const at::Tensor dsum = in.plain("d_sum"), dy = in.typed("d_y");
  ResidualNormForward forward{.type = in.element(), .rows = sizes.rows, .columns = sizes.embed};
  ResidualNormBackward backward{.type = in.element(), .rows = sizes.rows, .columns = sizes.embed};
  forward.a = forward.branch_bias = backward.dsum =
      x.const_data_ptr<float>();  // only whether they are there counts
  float there = 0;
  backward.dbranch_bias = &there;
  if (in.type() != at::kFloat) backward.da = &there;
  return {[=] {
            const Normed out = fused_residual_norm(x, a, added, norm);
            return with_gradients({out.sum, out.y}, {x, a, added, norm.weight, norm.bias}, {dsum, dy});
          },
          moved_bytes(forward) + moved_bytes(backward)};
}

FusedOp qkv_op(const Inputs& in, const Sizes& sizes) {
  const at::Tensor x = in.typed_leaf("normed"), leaf = in.leaf("qkv_weight"), bias = in.leaf("qkv_bias");
  const Variables given = {in.typed("d_q"), in.typed("d_k"), in.typed("d_v")};
  const at::ScalarType type = in.type();
  const std::int64_t batch = sizes.batch, heads = sizes.heads, n = sizes.rows, e = sizes.embed;
  const std::int64_t products =
      3 * (n * e + 3 * e * e + 3 * n * e);  // forward, dx and dW, operands and result
  return {[=] {
            const Weight weight{leaf, leaf.detach().to(type)}, added{bias, bias.detach().to(type)};
            const auto parts = split_heads(linear(x, weight, added), batch, heads);
            return with_gradients({parts[0], parts[1], parts[2]}, {x, leaf, bias}, given);
          },
          (products + 3 * n * e) * in.bytes()};
}

FusedOp head_loss_op(const Inputs& in, const Sizes& sizes) {
  const at::Tensor tokens = in.typed_leaf("tokens"), target = in.plain("target");
  const std::int64_t patch = sizes.vit.patch;
  const HeadLossShape shape{sizes.batch, sizes.vit.channels, sizes.vit.height, sizes.vit.width, patch};
  const at::Tensor given = at::full_like(target.flatten()[0], 1);
  return {[=] { return with_gradients({fused_head_loss(tokens, target, patch)}, {tokens}, {given}); },
          moved_bytes(HeadLossForward{.type = in.element(), .shape = shape}) +
              moved_bytes(HeadLossBackward{.type = in.element(), .shape = shape})};
}

/// The lessons' update: control block and kernel. The state moves on from run to run.
FusedOp adam_op(const Inputs& in, const Json& sheet) {
  const at::Tensor weights = in.flat("weight."), gradients = in.flat("gradient.");
  at::Tensor control = at::zeros_like(weights.narrow(0, 0, 4));
  control[2].fill_(1);
  const AdamTensors tensors{weights, gradients, at::zeros_like(weights), at::zeros_like(weights), control};
  const double rate = sheet["lr"], beta1 = sheet["beta1"], beta2 = sheet["beta2"], eps = sheet["eps"];
  return {[=]() -> Variables {
            at::Tensor(control[0]).fill_(rate);
            at::Tensor(control[1]).add_(1);
            adam(tensors, beta1, beta2, eps);
            return {weights};
          },
          moved_bytes(AdamStep{.n = weights.numel()})};
}

FusedOp grad_norm_op(const Inputs& in) {
  const at::Tensor gradients = in.flat("gradient.");
  const auto place = std::make_shared<GradientNormPlace>(gradients.device());
  return {[=]() -> Variables {
            gradient_norm(gradients, *place);
            return {place->sum_of_squares.sqrt(), place->nonfinite};
          },
          moved_bytes(GradientNorm{.n = gradients.numel()})};
}

}  // namespace

NamedTensors fusion_inputs(const Json& sheet) {
  const Sizes s(sheet);
  const std::int64_t r = s.rows, e = s.embed;
  const std::vector<std::int64_t> by_head = {s.batch, s.heads, r / s.batch, e / s.heads};
  const std::int64_t outputs = s.vit.patch * s.vit.patch * s.vit.channels;
  const std::vector<std::int64_t> image = {s.batch, s.vit.channels, s.vit.height, s.vit.width};
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes = {
      {"hidden", {r, 4 * e}}, {"hidden_bias", {4 * e}}, {"d_hidden", {r, 4 * e}}, {"x", {r, e}},
      {"branch", {r, e}},     {"branch_bias", {e}},     {"norm_weight", {e}},     {"norm_bias", {e}},
      {"d_sum", {r, e}},      {"d_y", {r, e}},          {"normed", {r, e}},       {"qkv_weight", {3 * e, e}},
      {"qkv_bias", {3 * e}},  {"d_q", by_head},         {"d_k", by_head},         {"d_v", by_head},
      {"target", image},      {"tokens", {r, outputs}}};
  NamedTensors out;
  for (const auto& [name, shape] : shapes) out.emplace_back(name, random_field(name, shape));
  Parameters parameters;
  const Vit model(parameters, s.vit);
  for (const Parameter& parameter : parameters.all()) {
    for (const char* kind : {"weight.", "gradient."})
      out.emplace_back(kind + parameter.name, random_field(kind + parameter.name, parameter.full_shape));
  }
  return out;
}

FusedOp make_fused_op(const std::string& name, const std::string& type, const Json& sheet,
                      const NamedTensors& inputs, c10::Device device) {
  const Inputs in(inputs, device, type == "bf16" ? at::kBFloat16 : at::kFloat);
  const Sizes sizes(sheet);
  if (name == "bias_gelu") return bias_gelu_op(in, sizes);
  if (name == "residual_norm") return residual_norm_op(in, sizes);
  if (name == "qkv") return qkv_op(in, sizes);
  if (name == "head_loss") return head_loss_op(in, sizes);
  if (name == "adam") return adam_op(in, sheet);
  if (name == "grad_norm") return grad_norm_op(in);
  throw Error("there is no such operation", name, "adam, bias_gelu, residual_norm, qkv, head_loss, grad_norm",
              Exit::failed);
}

}  // namespace isobar
