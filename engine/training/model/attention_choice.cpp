#include "model/attention_choice.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/error.h"

namespace isobar {
namespace {

constexpr std::int64_t kFewTokens = 16;

std::array<bool, 4> allowed_now() {
  const at::Context& context = at::globalContext();
  return {context.userEnabledMathSDP(), context.userEnabledFlashSDP(), context.userEnabledMemEfficientSDP(),
          context.userEnabledCuDNNSDP()};
}

void allow(const std::array<bool, 4>& kinds) {
  at::Context& context = at::globalContext();
  context.setSDPUseMath(kinds[0]);
  context.setSDPUseFlash(kinds[1]);
  context.setSDPUseMemEfficient(kinds[2]);
  context.setSDPUseCuDNN(kinds[3]);
}

/// libtorch warns of each reason why a form is not taken; the answer is all that is asked for here.
class Quiet : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

at::TensorOptions options_of(const AttentionShape& shape) {
  return at::TensorOptions(shape.type).device(shape.device);
}

/// [batch, 1, queries, keys]; none where `shape` has none.
std::optional<at::Tensor> mask_for(const AttentionShape& shape, const at::Tensor& q, const at::Tensor& k) {
  if (!shape.has_mask) return std::nullopt;
  return at::zeros({1, 1, q.size(2), k.size(2)}, options_of(shape)).expand({q.size(0), -1, -1, -1});
}

bool runs(AttentionKind kind, const AttentionShape& shape) {
  Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard silence(&quiet);
  const AttentionGuard only(kind);
  const at::AutoGradMode gradients(true);
  try {
    const at::Tensor q =
        at::ones({1, shape.heads, kFewTokens, shape.head_size}, options_of(shape)).set_requires_grad(true);
    const at::Tensor out = at::scaled_dot_product_attention(q, q, q, mask_for(shape, q, q));
    out.sum().backward();
    return q.grad().isfinite().all().item<bool>();
  } catch (const c10::OutOfMemoryError&) {
    throw;  // the error is not about the form
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace

AttentionGuard::AttentionGuard(AttentionKind kind) : before_(allowed_now()) {
  if (kind == AttentionKind::automatic) return;
  std::array<bool, 4> wanted{};
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = kind == kTorchAttention[i];
  allow(wanted);
}

AttentionGuard::~AttentionGuard() { allow(before_); }

std::vector<AttentionKind> attention_kinds_here(const AttentionShape& shape) {
  std::vector<AttentionKind> out;
  std::copy_if(kTorchAttention.begin(), kTorchAttention.end(), std::back_inserter(out),
               [&](AttentionKind kind) { return runs(kind, shape); });
  return out;
}

AttentionKind choose_attention(AttentionKind wanted, const AttentionShape& shape) {
  if (wanted == AttentionKind::automatic) {
    const at::Tensor q =
        at::empty({shape.batch, shape.heads, shape.tokens, shape.head_size}, options_of(shape));
    q.set_requires_grad(true);  // forms that have no backward are out
    const at::Tensor k = shape.keys == 0 ? q
                                         : at::empty({shape.batch, shape.heads, shape.keys, shape.head_size},
                                                     options_of(shape));
    const auto choice = static_cast<std::size_t>(at::_fused_sdp_choice(q, k, k, mask_for(shape, q, k)));
    return choice < kTorchAttention.size() ? kTorchAttention[choice] : AttentionKind::math;
  }
  if (runs(wanted, shape)) return wanted;
  std::string here = "auto";
  for (const AttentionKind kind : attention_kinds_here(shape)) here += fmt::format(", {}", name_of(kind));
  throw Error(fmt::format("attention cannot run as \"{}\" here with heads of {} values in {} on {}{}",
                          name_of(wanted), shape.head_size, toString(shape.type), shape.device.str(),
                          shape.has_mask ? ", with a mask" : ""),
              fmt::format("model.attention = {}", name_of(wanted)), "one of: " + here);
}

}  // namespace isobar
