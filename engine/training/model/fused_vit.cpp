#include "model/fused_vit.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <fmt/format.h>

#include "device/autocast_state.h"
#include "device/operator_watch.h"
#include "model/attention_choice.h"
#include "model/relative_l2.h"

namespace isobar {
namespace {

LinearLeaves linear_leaves(const Parameters& parameters, const std::string& name, bool has_bias = true) {
  return {parameters.find(name + ".weight").tensor,
          has_bias ? parameters.find(name + ".bias").tensor : at::Tensor(), name};
}

RunningMoments running_moments(const Parameters& parameters, const std::string& name) {
  RunningMoments out;
  for (const Buffer& buffer : parameters.buffers()) {
    if (buffer.name == name + ".running_mean") out.mean = buffer.tensor;
    if (buffer.name == name + ".running_var") out.variance = buffer.tensor;
  }
  return out;
}

NormLeaves norm_leaves(const Parameters& parameters, const std::string& name) {
  return {parameters.find(name + ".weight").tensor, parameters.find(name + ".bias").tensor,
          running_moments(parameters, name), name};
}

FusionConfig fusion_of(FusionConfig fusion, const VitShape& shape) {
  fusion.residual_norm = fusion.residual_norm && !shape.batch_norm;
  return fusion;
}

BlockLeaves block_leaves(Parameters& parameters, const std::string& name, bool joins_qkv) {
  BlockLeaves out;
  out.attention_name = name + ".attn";
  out.mlp_name = name + ".mlp";
  out.norm1 = norm_leaves(parameters, name + ".norm1");
  out.norm2 = norm_leaves(parameters, name + ".norm2");
  if (joins_qkv) {
    const auto joined = [&](const char* part) {
      const std::string attn = name + ".attn.";
      return parameters.join({attn + "q" + part, attn + "k" + part, attn + "v" + part});
    };
    out.qkv = {joined(".weight"), joined(".bias"), name + ".attn.qkv"};
  } else {
    out.q = linear_leaves(parameters, name + ".attn.q");
    out.k = linear_leaves(parameters, name + ".attn.k");
    out.v = linear_leaves(parameters, name + ".attn.v");
  }
  out.proj = linear_leaves(parameters, name + ".attn.proj");
  out.fc1 = linear_leaves(parameters, name + ".mlp.fc1");
  out.fc2 = linear_leaves(parameters, name + ".mlp.fc2");
  return out;
}

at::ScalarType activation_type(c10::Device device) {
  return at::autocast::is_autocast_enabled(device.type()) ? at::autocast::get_autocast_dtype(device.type())
                                                          : at::kFloat;
}

}  // namespace

/// One forward pass: the weights in the type of the activations, cast together once, and the layers.
/// Tokens are [B N, ...] throughout.
class FusedVit::Pass {
 public:
  Pass(const FusedVit& model, const at::Tensor& image)
      : model_(model), batch_(image.size(0)), type_(activation_type(image.device())) {
    const at::NoGradGuard no_grad;
    const ModuleScope scope("weights");
    if (type_ != at::kFloat) cast_ = model.parameters_->values().to(type_);
  }

  /// [B, C, H, W] -> the head's outputs, [B N, P P C] of the activations' type.
  at::Tensor tokens(const at::Tensor& image) {
    const at::Tensor first = model_.ranks_.share(embed(image));
    Normed stream = begin(first, model_.blocks_.front().norm1);
    for (std::size_t i = 0; i < model_.blocks_.size(); ++i) {
      const BlockLeaves& block = model_.blocks_[i];
      const bool last = i + 1 == model_.blocks_.size();
      stream = add(stream.sum, attention(block, stream.y), block.proj, block.norm2);
      stream = add(stream.sum, hidden(block, stream.y), block.fc2,
                   last ? model_.norm_ : model_.blocks_[i + 1].norm1);
    }
    return layer(model_.ranks_.unite(stream.y), model_.head_);
  }

 private:
  /// A parameter as products take it; those of 16 bits are views of the one cast buffer.
  Weight weight(const at::Tensor& leaf) const {
    const std::int64_t rows = leaf.size(0);
    if (!cast_.defined()) return {leaf, leaf.dim() > 2 ? leaf.view({rows, -1}) : leaf};
    const std::int64_t begin =
        leaf.const_data_ptr<float>() - model_.parameters_->values().const_data_ptr<float>();
    if (leaf.dim() == 1) return {leaf, cast_.as_strided({rows}, {1}, begin)};
    const std::int64_t columns = leaf.numel() / rows;
    return {leaf, cast_.as_strided({rows, columns}, {columns, 1}, begin)};
  }

  at::Tensor layer(const at::Tensor& x, const LinearLeaves& leaves) const {
    const ModuleScope scope(leaves.name);
    return linear(x, weight(leaves.weight), leaves.bias.defined() ? weight(leaves.bias) : Weight{});
  }

  /// [B, C, H, W] -> [B N, C P P], the values of a patch in the order (c, p, q) of the weights. A product
  /// with it is the convolution whose kernel is its stride.
  at::Tensor patches(const at::Tensor& image) const {
    const at::NoGradGuard no_grad;
    const VitShape& shape = model_.shape();
    const std::int64_t rows = shape.height / shape.patch, columns = shape.width / shape.patch;
    const at::Tensor cut = image.view({batch_, shape.channels, rows, shape.patch, columns, shape.patch})
                               .permute({0, 2, 4, 1, 3, 5});
    at::Tensor out = at::empty(cut.sizes(), image.options().dtype(type_));
    return out.copy_(cut).view({batch_ * shape.tokens(), -1});
  }

  at::Tensor embed(const at::Tensor& image) const {
    const ModuleScope scope(model_.patch_embed_.name);
    return embed_patches(patches(image), weight(model_.patch_embed_.weight), model_.patch_embed_.bias,
                         model_.positions_);
  }

  Normed begin(const at::Tensor& x, const NormLeaves& norm) const {
    const ModuleScope scope(norm.name);
    if (model_.fusion_.residual_norm) return fused_norm(x, {norm.weight, norm.bias, eps()}, type_);
    return {x, plain_norm(x, norm)};
  }

  double eps() const { return model_.shape().norm_eps; }

  at::Tensor bias_in_part(const LinearLeaves& out) const {
    return model_.ranks_.bias_behind_sum() ? at::Tensor() : out.bias;
  }
  at::Tensor bias_behind_sum(const LinearLeaves& out) const {
    return model_.ranks_.bias_behind_sum() ? out.bias : at::Tensor();
  }

  /// branch W^T + b with W and b of `out`; of split layers each rank has a part of the sum.
  at::Tensor summed(const at::Tensor& branch, const LinearLeaves& out, bool with_bias) const {
    if (with_bias && model_.ranks_.count() == 1) return layer(branch, out);
    const at::Tensor part = layer(branch, {out.weight, bias_in_part(out), out.name});
    const ModuleScope scope(out.name);
    const at::Tensor sum = model_.ranks_.leave(part);
    const at::Tensor bias = with_bias ? bias_behind_sum(out) : at::Tensor();
    return bias.defined() ? sum + bias.to(sum.scalar_type()) : sum;
  }

  /// x + (branch W^T + b) with W and b of `out`, and the norm behind it.
  Normed add(const at::Tensor& x, const at::Tensor& branch, const LinearLeaves& out,
             const NormLeaves& norm) const {
    if (model_.fusion_.residual_norm) {
      const at::Tensor product = summed(branch, out, /*with_bias=*/false);
      const ModuleScope scope(norm.name);
      return fused_residual_norm(x, product, bias_behind_sum(out), {norm.weight, norm.bias, eps()});
    }
    const at::Tensor product = summed(branch, out, /*with_bias=*/true);
    const ModuleScope scope(norm.name);
    const at::Tensor sum = x + product;
    return {sum, plain_norm(sum, norm)};
  }

  at::Tensor plain_norm(const at::Tensor& x, const NormLeaves& norm) const {
    return normalised(x, norm.weight, norm.bias, norm.running, eps()).to(type_);
  }

  /// [B N, E] -> [B N, E/t], in front of the projection.
  at::Tensor attention(const BlockLeaves& block, const at::Tensor& y) const {
    const ModuleScope scope(block.attention_name);
    const at::Tensor x = model_.ranks_.enter(y);
    const std::int64_t heads = model_.shape().heads / model_.ranks_.count();
    std::array<at::Tensor, 3> qkv;
    if (model_.fusion_.qkv) {
      qkv = split_heads(layer(x, block.qkv), batch_, heads);
    } else {
      const std::array<const LinearLeaves*, 3> leaves = {&block.q, &block.k, &block.v};
      for (std::size_t i = 0; i < 3; ++i)
        qkv[i] = layer(x, *leaves[i]).view({batch_, x.size(0) / batch_, heads, -1}).transpose(1, 2);
    }
    return at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]).transpose(1, 2).reshape({x.size(0), -1});
  }

  /// [B N, E] -> [B N, F/t], in front of the second layer of the MLP.
  at::Tensor hidden(const BlockLeaves& block, const at::Tensor& y) const {
    const ModuleScope scope(block.mlp_name);
    const at::Tensor x = model_.ranks_.enter(y);
    if (!model_.fusion_.bias_gelu) return at::gelu(layer(x, block.fc1));
    return fused_bias_gelu(layer(x, {block.fc1.weight, {}, block.fc1.name}), block.fc1.bias,
                           has_fault(Fault::tanh_gelu));
  }

  const FusedVit& model_;
  std::int64_t batch_;
  at::ScalarType type_;
  at::Tensor cast_;  ///< all parameters in 16 bits, as long as the flat buffers; undefined in float32
};

FusedVit::FusedVit(Parameters& parameters, const VitShape& shape, const FusionConfig& fusion,
                   AttentionKind attention, const TensorParallel& ranks)
    : parameters_(&parameters),
      fusion_(fusion_of(fusion, shape)),
      attention_(attention),
      ranks_(ranks),
      plain_(parameters, shape, ranks),
      patch_embed_(linear_leaves(parameters, "patch_embed.proj")),
      head_(linear_leaves(parameters, "head", /*has_bias=*/false)),
      positions_(parameters.find("pos_embed").tensor),
      norm_(norm_leaves(parameters, "norm")) {
  for (std::int64_t i = 0; i < shape.depth; ++i)
    blocks_.push_back(block_leaves(parameters, fmt::format("blocks.{}", i), fusion.qkv));
}

bool FusedVit::fuses() const {
  return fusion_.bias_gelu || fusion_.residual_norm || fusion_.qkv || fusion_.head_loss ||
         ranks_.shares_tokens();  // which the plain model cannot do
}

at::Tensor FusedVit::operator()(const at::Tensor& image) const {
  const AttentionGuard guard(attention_);
  if (!fuses()) return plain_(image);
  const VitShape& s = shape();
  const at::Tensor tokens = Pass(*this, image).tokens(image);
  return unpatch(tokens.view({image.size(0), s.tokens(), -1}), s);
}

at::Tensor FusedVit::loss(const at::Tensor& image, const at::Tensor& target) const {
  if (!fusion_.head_loss) return relative_l2((*this)(image), target);
  const AttentionGuard guard(attention_);
  const at::Tensor tokens = Pass(*this, image).tokens(image);
  const ModuleScope scope("loss");
  return fused_head_loss(tokens, target, shape().patch);
}

}  // namespace isobar
