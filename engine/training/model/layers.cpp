#include "model/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "device/autocast_state.h"
#include "device/operator_watch.h"

namespace isobar {

namespace {

constexpr double kMomentum = 0.1;  // PyTorch's: how far a batch moves the running moments

ParameterSpec weight_spec(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                          const TensorParallel& ranks, Split split) {
  ParameterSpec spec{
      .name = name + ".weight", .full_shape = {outputs, inputs}, .init = Init::truncated_normal};
  if (split == Split::outputs) spec.shard = ranks.by_outputs();
  if (split == Split::inputs) spec.shard = ranks.by_inputs();
  spec.sums_over_cp = split != Split::none;
  return spec;
}

/// Behind a sum over the ranks a bias is whole, and sees the tokens that this rank keeps.
ParameterSpec bias_spec(const std::string& name, std::int64_t outputs, const TensorParallel& ranks,
                        Split split) {
  ParameterSpec spec{.name = name + ".bias", .full_shape = {outputs}};
  if (split == Split::outputs) spec.shard = ranks.by_outputs();
  if (split == Split::inputs) spec.sums_over_tp = ranks.shares_tokens();
  spec.sums_over_cp = split != Split::none;
  return spec;
}

}  // namespace

Linear::Linear(Parameters& parameters, const std::string& module, std::int64_t inputs, std::int64_t outputs,
               bool has_bias, const TensorParallel& model_ranks, Split how)
    : weight(parameters.add(weight_spec(module, inputs, outputs, model_ranks, how))),
      name(module),
      ranks(model_ranks),
      split(how) {
  if (has_bias) bias = parameters.add(bias_spec(module, outputs, ranks, split));
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name);
  if (!bias.defined()) return at::linear(x, weight);
  if (split != Split::inputs || ranks.count() == 1) return at::linear(x, weight, bias);
  if (!ranks.bias_behind_sum()) return ranks.leave(at::linear(x, weight, bias));
  const at::Tensor sum = ranks.leave(at::linear(x, weight));
  return sum + bias.to(sum.scalar_type());
}

at::Tensor normalised(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const RunningMoments& running, double eps) {
  if (!running.mean.defined()) return at::layer_norm(x, weight.sizes(), weight, bias, eps);
  // The form that by its schema writes the running moments: in place, so that a recorded step finds
  // them where they were.
  at::Tensor mean = running.mean, variance = running.variance;
  const auto [out, saved_mean, saved_deviation] =
      at::_native_batch_norm_legit(x.reshape({-1, x.size(-1)}), weight, bias, mean, variance,
                                   /*training=*/at::GradMode::is_enabled(), kMomentum, eps);
  return out.view(x.sizes());
}

Norm::Norm(Parameters& parameters, const std::string& module, std::int64_t embed, const TensorParallel& ranks,
           double epsilon, bool over_batch)
    : weight(parameters.add({.name = module + ".weight",
                             .full_shape = {embed},
                             .init = Init::ones,
                             .sums_over_tp = ranks.shares_tokens(),
                             .sums_over_cp = true})),
      bias(parameters.add({.name = module + ".bias",
                           .full_shape = {embed},
                           .sums_over_tp = ranks.shares_tokens(),
                           .sums_over_cp = true})),
      eps(epsilon),
      name(module) {
  if (!over_batch) return;
  running = {parameters.add_buffer(module + ".running_mean", {embed}, 0),
             parameters.add_buffer(module + ".running_var", {embed}, 1)};
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name);
  return normalised(x, weight, bias, running, eps);
}

PatchEmbed::PatchEmbed(Parameters& parameters, const std::string& module, std::int64_t channels,
                       std::int64_t patch_size, std::int64_t embed, const TensorParallel& ranks)
    : patch(patch_size), name(module) {
  const std::int64_t fan_in = channels * patch * patch;
  weight = parameters.add({.name = module + ".weight",
                           .full_shape = {embed, channels, patch, patch},
                           .init = Init::fan_in_uniform,
                           .fan_in = fan_in,
                           .sums_over_tp = ranks.shares_tokens()});
  bias = parameters.add({.name = module + ".bias",
                         .full_shape = {embed},
                         .init = Init::fan_in_uniform,
                         .fan_in = fan_in,
                         .sums_over_tp = ranks.shares_tokens()});
}

at::Tensor PatchEmbed::operator()(const at::Tensor& image) const {
  const ModuleScope scope(name);
  // libtorch 2.11 hands 16-bit convolutions on processors with AMX to a kernel that is wrong for 20 channels
  // and patches of 8 (pytorch issue 169688): there patches are laid out in rows and multiplied.
  if (image.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU)) {
    const std::int64_t rows = image.size(2) / patch;
    const std::int64_t columns = image.size(3) / patch;
    const at::Tensor patches = image.to(at::autocast::get_autocast_dtype(at::kCPU))
                                   .view({image.size(0), image.size(1), rows, patch, columns, patch})
                                   .permute({0, 2, 4, 1, 3, 5})
                                   .reshape({image.size(0), rows * columns, image.size(1) * patch * patch});
    return at::linear(patches, weight.flatten(1), bias);
  }
  const at::Tensor features = at::conv2d(image, weight, bias, {patch, patch});  // [B, E, H/P, W/P]
  return features.flatten(2).transpose(1, 2);
}

Attention::Attention(Parameters& parameters, const std::string& module, std::int64_t embed,
                     std::int64_t head_count, const TensorParallel& ranks)
    : q(parameters, module + ".q", embed, embed, true, ranks, Split::outputs),
      k(parameters, module + ".k", embed, embed, true, ranks, Split::outputs),
      v(parameters, module + ".v", embed, embed, true, ranks, Split::outputs),
      proj(parameters, module + ".proj", embed, embed, true, ranks, Split::inputs),
      heads(head_count / ranks.count()),
      name(module) {}

at::Tensor mix_tokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t heads) {
  const auto by_head = [&](const at::Tensor& t) {  // [B, N, E] -> [B, h, N, E/h]
    return t.view({t.size(0), t.size(1), heads, t.size(2) / heads}).transpose(1, 2);
  };
  return at::scaled_dot_product_attention(by_head(q), by_head(k), by_head(v)).transpose(1, 2).flatten(2);
}

at::Tensor Attention::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name);
  const at::Tensor in = q.ranks.enter(x);
  return proj(mix_tokens(q(in), k(in), v(in), heads));
}

Mlp::Mlp(Parameters& parameters, const std::string& module, std::int64_t embed, const TensorParallel& ranks)
    : fc1(parameters, module + ".fc1", embed, 4 * embed, true, ranks, Split::outputs),
      fc2(parameters, module + ".fc2", 4 * embed, embed, true, ranks, Split::inputs),
      name(module) {}

at::Tensor Mlp::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name);
  return fc2(at::gelu(fc1(fc1.ranks.enter(x))));
}

Block::Block(Parameters& parameters, const std::string& module, std::int64_t embed, std::int64_t heads,
             const TensorParallel& ranks, double norm_eps, bool batch_norm)
    : norm1(parameters, module + ".norm1", embed, ranks, norm_eps, batch_norm),
      norm2(parameters, module + ".norm2", embed, ranks, norm_eps, batch_norm),
      attention(parameters, module + ".attn", embed, heads, ranks),
      mlp(parameters, module + ".mlp", embed, ranks),
      name(module) {}

at::Tensor Block::operator()(at::Tensor x) const {
  const ModuleScope scope(name);
  x = x + attention(norm1(x));
  return x + mlp(norm2(x));
}

at::Tensor unpatch(const at::Tensor& tokens, const VitShape& s) {
  const std::int64_t rows = s.height / s.patch;
  const std::int64_t columns = s.width / s.patch;
  const at::Tensor image = s.channels_last
                               ? tokens.view({tokens.size(0), rows, columns, s.patch, s.patch, s.channels})
                                     .permute({0, 5, 1, 3, 2, 4})
                               : tokens.view({tokens.size(0), rows, columns, s.channels, s.patch, s.patch})
                                     .permute({0, 3, 1, 4, 2, 5});
  return image.reshape({tokens.size(0), s.channels, s.height, s.width});
}

}  // namespace isobar
