#include "model/fused_vit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "device/memory_ledger.h"
#include "device/operator_watch.h"
#include "fused/functions.h"
#include "model/attention_choice.h"
#include "model/relative_l2.h"

namespace isobar {
namespace {

FusionConfig fusion_of(FusionConfig fusion, const VitShape& shape) {
  fusion.residual_norm = fusion.residual_norm && !shape.batch_norm;
  return fusion;
}

}  // namespace

FusedVit::FusedVit(Parameters& parameters, const VitShape& shape, const FusionConfig& fusion,
                   AttentionKind attention, const TensorParallel& ranks, const std::vector<ModelStage>& held,
                   const ContextParallel& context)
    : parameters_(&parameters),
      fusion_(fusion_of(fusion, shape)),
      attention_(attention),
      ranks_(ranks),
      context_(context),
      plain_(parameters, shape, ranks, held),
      blocks_(static_cast<std::size_t>(shape.depth)),
      units_(blocks_.size() + 2) {
  std::size_t unit = 0;
  for (const ModelStage& stage : this->held()) {
    if (stage.embeds) {
      patch_embed_ = linear_leaves(parameters, "patch_embed.proj");
      positions_ = parameters.find("pos_embed").tensor;
      units_.front() = unit++;
    }
    for (auto i = static_cast<std::size_t>(stage.first_block); i < static_cast<std::size_t>(stage.end_block);
         ++i) {
      blocks_[i] = block_leaves(parameters, fmt::format("blocks.{}", i), fusion.qkv);
      units_[i + 1] = unit++;
    }
    if (stage.forecasts) {
      norm_ = norm_leaves(parameters, "norm");
      head_ = linear_leaves(parameters, "head", /*has_bias=*/false);
      units_.back() = unit++;
    }
  }
}

bool FusedVit::fuses() const {
  return fusion_.bias_gelu || fusion_.residual_norm || fusion_.qkv || fusion_.head_loss ||
         ranks_.shares_tokens() || context_.has_own_attention() || watch_ != nullptr ||
         !parameters_->shared_layout().whole_values || checkpoint_ != CheckpointKind::none ||
         dropout_ > 0;  // which the plain model cannot do
}

void FusedVit::checkpoint(CheckpointKind kind, std::int64_t every) {
  checkpoint_ = kind;
  every_ = std::max<std::int64_t>(1, every);
}

void FusedVit::share_cast(bool shares) const {
  shares_cast_ = shares;
  cast_.reset();
}

at::Tensor FusedVit::cast_weights(at::ScalarType type) const {
  if (cast_.defined() && cast_.scalar_type() == type) return cast_;
  const MemoryScope scope(MemoryCategory::weights);
  const at::Tensor out = parameters_->values().to(type);
  if (shares_cast_) cast_ = out;
  return out;
}

at::Tensor FusedVit::unpatched(const at::Tensor& tokens) const {
  return unpatch(tokens.view({-1, shape().tokens(), tokens.size(1)}), shape());
}

at::Tensor FusedVit::operator()(const at::Tensor& image) const {
  if (fuses() && plain_.is_whole()) return unpatched(tokens(held().front(), image));
  const AttentionGuard guard(attention_);
  return plain_(image);
}

at::Tensor FusedVit::loss(const at::Tensor& image, const at::Tensor& target) const {
  if (!fusion_.head_loss || !plain_.is_whole()) return relative_l2((*this)(image), target);
  return loss_of(tokens(held().front(), image), target);
}

at::Tensor FusedVit::stage_forward(std::size_t i, const at::Tensor& in) const {
  const ModelStage& stage = held().at(i);
  if (plain_.is_whole()) return (*this)(in);
  const at::Tensor out = tokens(stage, in);
  return stage.forecasts ? unpatched(out) : out;
}

at::Tensor FusedVit::stage_loss(std::size_t i, const at::Tensor& in, const at::Tensor& target) const {
  if (plain_.is_whole()) return loss(in, target);
  if (!fusion_.head_loss) return relative_l2(stage_forward(i, in), target);
  return loss_of(tokens(held().at(i), in), target);
}

at::Tensor FusedVit::loss_of(const at::Tensor& tokens, const at::Tensor& target) const {
  const ModuleScope scope("loss");
  return fused_head_loss(tokens, target, shape().patch);
}

}  // namespace isobar
