// How FusedVit computes.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/native_dropout.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>

#include "core/error.h"
#include "device/autocast_state.h"
#include "device/memory_ledger.h"
#include "device/operator_watch.h"
#include "fused/functions.h"
#include "fused/recomputed.h"
#include "fused/with_gradient.h"
#include "model/attention_choice.h"
#include "model/fused_vit.h"

namespace isobar {
namespace {

at::ScalarType activation_type(c10::Device device) {
  return at::autocast::is_autocast_enabled(device.type()) ? at::autocast::get_autocast_dtype(device.type())
                                                          : at::kFloat;
}

/// What a branch of a block is made of in front of its last layer, and how it is made again if that layer
/// does not keep it.
struct Branch {
  at::Tensor values;
  std::optional<Remade> again = {};
};

constexpr std::size_t kNoBlock = ~std::size_t{0};

}  // namespace

/// One forward pass: the weights in the type of the activations, cast together once, and the layers.
/// Tokens are [B N, ...] throughout; where ranks share them N stands for those of this one. Where blocks are
/// computed again the graph holds it.
class FusedVit::Pass : public std::enable_shared_from_this<Pass> {
 public:
  /// `in`: images, or a stream.
  Pass(const FusedVit& model, const at::Tensor& in)
      : model_(model),
        device_(in.device()),
        batch_(in.dim() == 4 ? in.size(0) : samples_of(model, in.size(0))),
        type_(activation_type(device_)),
        kind_(at::GradMode::is_enabled() ? model.checkpoint_ : CheckpointKind::none),
        dropout_(at::GradMode::is_enabled() ? model.dropout_ : 0) {
    const at::NoGradGuard no_grad;
    const ModuleScope scope("weights");
    if (model_.watch_ == nullptr && !model_.parameters_->shared_layout().whole_values)
      throw Error("weights come and go, and nobody is asked for them", "FusedVit", "watch_units",
                  Exit::failed);
    if (type_ != at::kFloat && model_.watch_ == nullptr) cast_ = model.cast_weights(type_);
  }

  /// The whole model or a stage of it: the head's outputs, [B N, P P C] of the activations' type, or the
  /// stream behind the stage.
  at::Tensor tokens(const ModelStage& stage, const at::Tensor& in) {
    const auto last = static_cast<std::size_t>(stage.end_block);
    const auto together = static_cast<std::size_t>(kind_ == CheckpointKind::block ? model_.every_ : 1);
    Normed stream = enter(stage, in);
    for (std::size_t first = static_cast<std::size_t>(stage.first_block), end = 0; first < last;
         first = end) {
      end = std::min(first + together, last);
      const TensorPair parts = checkpointed(first, end, stream);
      if (end == last && !stage.forecasts) return end_unit(end, sum(parts, model_.blocks_[end - 1].fc2));
      stream = behind(end - 1, parts);
    }
    const std::size_t head = model_.blocks_.size() + 1;
    return end_unit(head, layer(model_.context_.unite(model_.ranks_.unite(stream.y), batch_), model_.head_));
  }

 private:
  static std::int64_t samples_of(const FusedVit& model, std::int64_t rows) {
    return rows * (model.ranks_.shares_tokens() ? model.ranks_.count() : 1) /
           model.context_.own(model.shape().tokens()).count;
  }

  /// In front of a stage's first block.
  Normed enter(const ModelStage& stage, const at::Tensor& in) const {
    const auto first = static_cast<std::size_t>(stage.first_block);
    if (!stage.embeds) {
      begin_unit(first + 1);
      return begin(in, model_.blocks_[first].norm1);
    }
    begin_unit(0);
    const at::Tensor embedded = model_.ranks_.share(model_.context_.share(embed(in), batch_));
    begin_unit(1);
    return end_unit(0, begin(embedded, model_.blocks_[first].norm1));
  }

  void begin_unit(std::size_t unit) const {
    if (model_.watch_ != nullptr) model_.watch_->begin_forward(model_.units_[unit]);
  }
  /// `out` as a node of the graph at which backward reaches the unit.
  at::Tensor end_unit(std::size_t of_model, const at::Tensor& out) const {
    UnitWatch* const watch = model_.watch_;
    if (watch == nullptr) return out;
    const std::size_t unit = model_.units_[of_model];
    watch->end_forward(unit);
    return with_gradient(out, {.forward = [](const at::Tensor& x) { return x.view_as(x); },
                               .backward =
                                   [watch, unit](const at::Tensor& dy) {
                                     watch->begin_backward(unit);
                                     return dy;
                                   }});
  }
  /// Both gradients come from the unit behind; whichever is first has reached this one.
  Normed end_unit(std::size_t unit, const Normed& out) const {
    if (model_.watch_ == nullptr) return out;
    return {out.sum, end_unit(unit, out.y)};
  }

  /// A parameter as products take it; those of 16 bits are views of the one cast buffer.
  Weight weight(const at::Tensor& leaf) const {
    const std::int64_t rows = leaf.size(0);
    if (type_ != at::kFloat && model_.watch_ != nullptr) {
      const at::Tensor values = model_.watch_->cast(leaf, type_);
      return {leaf, leaf.dim() > 2 ? values.view({rows, -1}) : values};
    }
    if (!cast_.defined()) return {leaf, leaf.dim() > 2 ? leaf.view({rows, -1}) : leaf};
    const std::int64_t begin =
        leaf.const_data_ptr<float>() - model_.parameters_->values().const_data_ptr<float>();
    if (leaf.dim() == 1) return {leaf, cast_.as_strided({rows}, {1}, begin)};
    const std::int64_t columns = leaf.numel() / rows;
    return {leaf, cast_.as_strided({rows, columns}, {columns, 1}, begin)};
  }

  at::Tensor layer(const at::Tensor& x, const LinearLeaves& leaves, const LinearForm& form = {}) const {
    const ModuleScope scope(leaves.name);
    return linear(x, weight(leaves.weight), leaves.bias.defined() ? weight(leaves.bias) : Weight{}, form);
  }

  /// [B, C, H, W] -> [B N, C P P], the values of a patch in the order (c, p, q) of the weights. A product
  /// with it is the convolution whose kernel is its stride.
  at::Tensor patches(const at::Tensor& image) const {
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

  /// A bias comes with its product, or in one pass with the sum and the norm behind it.
  bool bias_in_product() const {
    return model_.ranks_.count() == 1 ? !model_.fusion_.residual_norm || dropout_ > 0
                                      : !model_.ranks_.bias_behind_sum();
  }

  /// branch W^T, of split layers this rank's part of the sum: with W and perhaps b of `out`. Backward needs
  /// none of its values.
  at::Tensor product(const Branch& branch, const LinearLeaves& out, bool value_wanted = true) const {
    const at::Tensor all =
        layer(branch.values, {out.weight, bias_in_product() ? out.bias : at::Tensor(), out.name},
              {.input = branch.again, .value_wanted = value_wanted});
    return dropout_ > 0 ? std::get<0>(at::native_dropout(all, dropout_, /*train=*/true)) : all;
  }

  /// x + (branch W^T + b) of a product, and the norm behind it.
  Normed add(const TensorPair& parts, const LinearLeaves& out, const NormLeaves& norm) const {
    const auto& [x, part] = parts;
    std::optional<ModuleScope> scope(out.name);
    at::Tensor branch = model_.ranks_.leave(part);
    const at::Tensor bias = bias_in_product() ? at::Tensor() : out.bias;
    if (model_.fusion_.residual_norm) {
      scope.emplace(norm.name);
      return fused_residual_norm(x, branch, bias, {norm.weight, norm.bias, eps()});
    }
    if (bias.defined()) branch = branch + bias.to(branch.scalar_type());
    scope.emplace(norm.name);
    const at::Tensor sum = x + branch;
    return {sum, plain_norm(sum, norm)};
  }

  /// The first half of `add`, at the end of a stage.
  at::Tensor sum(const TensorPair& parts, const LinearLeaves& out) const {
    const auto& [x, part] = parts;
    const ModuleScope scope(out.name);
    const at::Tensor branch = model_.ranks_.leave(part);
    const at::Tensor bias = bias_in_product() ? at::Tensor() : out.bias;
    if (model_.fusion_.residual_norm) return fused_sum(x, branch, bias);
    return x + (bias.defined() ? branch + bias.to(branch.scalar_type()) : branch);
  }

  at::Tensor plain_norm(const at::Tensor& x, const NormLeaves& norm) const {
    return normalised(x, norm.weight, norm.bias, norm.running, eps()).to(type_);
  }

  /// The norm of a sum that was added up before.
  at::Tensor norm_again(const at::Tensor& sum, const NormLeaves& norm) const {
    const ModuleScope scope(norm.name);
    if (!model_.fusion_.residual_norm) return plain_norm(sum, norm);
    return residual_norm(sum, {}, {}, {norm.weight, norm.bias, eps()}, type_).y;
  }
  /// What a layer takes of in.y where it does not keep it.
  std::optional<Remade> input_again(bool is_redone, const at::Tensor& sum, const NormLeaves& norm,
                                    int takers = 1) const {
    if (!is_redone) return {};
    return remade(
        sum,
        [self = shared_from_this(), &norm](const at::Tensor& kept) {
          return self->model_.ranks_.enter(self->norm_again(kept, norm));
        },
        takers);
  }

  /// [B N, E] -> [B N, E/t], in front of the projection.
  Branch attention(const BlockLeaves& block, const Normed& in) const {
    const ModuleScope scope(block.attention_name);
    const at::Tensor x = model_.ranks_.enter(in.y);
    const std::int64_t heads = model_.shape().heads / model_.ranks_.count();
    const bool is_redone = kind_ == CheckpointKind::cheap || kind_ == CheckpointKind::selective;
    const LinearForm form{.input = input_again(is_redone, in.sum, block.norm1, model_.fusion_.qkv ? 1 : 3)};
    std::array<at::Tensor, 3> qkv;
    if (model_.fusion_.qkv) {
      qkv = split_heads(layer(x, block.qkv, form), batch_, heads);
    } else {
      const std::array<const LinearLeaves*, 3> leaves = {&block.q, &block.k, &block.v};
      for (std::size_t i = 0; i < 3; ++i)
        qkv[i] = layer(x, *leaves[i], form).view({batch_, x.size(0) / batch_, heads, -1}).transpose(1, 2);
    }
    return {model_.context_.attend(qkv[0], qkv[1], qkv[2]).transpose(1, 2).reshape({x.size(0), -1})};
  }

  /// [B N, E] -> [B N, F/t], in front of the second layer of the MLP.
  Branch hidden(const BlockLeaves& block, const Normed& in) const {
    const ModuleScope scope(block.mlp_name);
    const at::Tensor x = model_.ranks_.enter(in.y);
    const bool is_redone = kind_ == CheckpointKind::cheap;
    const bool fuses = model_.fusion_.bias_gelu;
    const LinearLeaves fc1 = {block.fc1.weight, fuses ? at::Tensor() : block.fc1.bias, block.fc1.name};
    const at::Tensor before = layer(x, fc1, {.input = input_again(is_redone, in.sum, block.norm2)});
    const bool tanh = has_fault(Fault::tanh_gelu);
    Branch out{fuses ? fused_bias_gelu(before, block.fc1.bias, tanh) : at::gelu(before)};
    if (is_redone)
      out.again = remade(before, [fuses, bias = block.fc1.bias, tanh](const at::Tensor& kept) {
        return fuses ? bias_gelu(kept, bias, tanh) : at::gelu(kept);
      });
    return out;
  }

  /// Block i behind attention: from its input and attention's result to the stream behind attention, and
  /// fc2's product.
  TensorPair behind_attention(std::size_t i, const at::Tensor& sum, const Branch& attended) const {
    const BlockLeaves& block = model_.blocks_[i];
    const Normed middle = add({sum, product(attended, block.proj)}, block.proj, block.norm2);
    return {middle.sum, product(hidden(block, middle), block.fc2, /*value_wanted=*/i != unasked_)};
  }

  /// Sum and norm behind block i, which are those in front of the next one.
  Normed behind(std::size_t i, const TensorPair& parts) const {
    const bool last = i + 1 == model_.blocks_.size();
    begin_unit(i + 2);
    return end_unit(i + 1,
                    add(parts, model_.blocks_[i].fc2, last ? model_.norm_ : model_.blocks_[i + 1].norm1));
  }

  /// Blocks `first` to `end` - 1, but for the sum behind the last.
  TensorPair blocks(std::size_t first, std::size_t end, Normed stream) const {
    for (std::size_t i = first;; ++i) {
      const TensorPair parts = behind_attention(i, stream.sum, attention(model_.blocks_[i], stream));
      if (i + 1 == end) return parts;
      stream = behind(i, parts);
    }
  }

  /// This pass as it computes blocks up to `end` - 1 again: in the type that autocast has by now.
  Pass again(std::size_t end) const {
    Pass out(*this);
    out.kind_ = CheckpointKind::none;
    out.unasked_ = end - 1;
    out.type_ = activation_type(device_);
    if (out.type_ != type_) out.cast_ = at::Tensor();
    return out;
  }

  TensorPair checkpointed(std::size_t first, std::size_t end, const Normed& stream) const {
    const auto self = shared_from_this();
    const bool draws = dropout_ > 0;
    if (kind_ == CheckpointKind::selective) {
      return seams::recomputed(
          {stream.sum, attention(model_.blocks_[first], stream).values},
          {.forward = [&](const TensorPair& in) { return behind_attention(first, in[0], {in[1]}); },
           .again =
               [self, first](const TensorPair& in) {
                 self->begin_unit(first + 1);
                 const Pass pass = self->again(first + 1);
                 return pass.behind_attention(first, in[0], {in[1].to(pass.type_)});
               },
           .draws = draws});
    }
    if (kind_ != CheckpointKind::block) return blocks(first, end, stream);
    return seams::recomputed({stream.sum, stream.y},
                             {.forward =
                                  [&](const TensorPair& in) {
                                    return blocks(first, end, {in[0], in[1]});
                                  },
                              .again =
                                  [self, first, end](const TensorPair& in) {
                                    const AttentionGuard guard(self->model_.attention_);
                                    return self->again(end).blocks(first, end, {in[0], in[1]});
                                  },
                              .second =
                                  [self, first, end](const at::Tensor& sum) {
                                    self->begin_unit(first + 1);
                                    return self->again(end).norm_again(sum,
                                                                       self->model_.blocks_[first].norm1);
                                  },
                              .draws = draws});
  }

  const FusedVit& model_;
  c10::Device device_;
  std::int64_t batch_;
  at::ScalarType type_;
  CheckpointKind kind_;
  double dropout_;
  std::size_t unasked_ = kNoBlock;  ///< the block whose last product needs no values
  at::Tensor cast_;  ///< all parameters in 16 bits, as long as the flat buffers; undefined in float32
};

at::Tensor FusedVit::tokens(const ModelStage& stage, const at::Tensor& in) const {
  const AttentionGuard guard(attention_);
  return std::make_shared<Pass>(*this, in)->tokens(stage, in);
}

}  // namespace isobar
