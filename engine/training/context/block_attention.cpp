#include "context/block_attention.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "device/autocast_state.h"

namespace isobar {
namespace {

constexpr std::int64_t kEfficientRows = 32;  // libtorch's own padding of the logarithms
constexpr std::int64_t kHeadStep = 8;        // heads of other sizes are padded in front of these forms only

/// The numbers of libtorch's SDPBackend.
enum class TorchForm : std::int64_t { none = -1, math = 0, flash = 1, efficient = 2, cudnn = 3 };

/// With no form that is allowed and can, libtorch has a number for it, and throws on some ways there.
TorchForm form_for(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  try {
    return static_cast<TorchForm>(at::_fused_sdp_choice(q, k, v));
  } catch (const c10::Error&) {
    return TorchForm::none;
  }
}

double scale_of(const at::Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(3))); }

/// Products in the type of their factors, whatever autocast would make of them.
class NoAutocast {
 public:
  explicit NoAutocast(c10::DeviceType device)
      : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, false);
  }
  ~NoAutocast() { at::autocast::set_autocast_enabled(device_, before_); }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  c10::DeviceType device_;
  bool before_;
};

at::Tensor wide(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }

at::Tensor scores(const at::Tensor& q, const at::Tensor& k) {
  return wide(at::matmul(q, k.transpose(2, 3))).mul_(scale_of(q));
}

AttendedBlock plain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor all = scores(q, k);
  const at::Tensor log_sum = at::logsumexp(all, at::IntArrayRef{3});
  return {at::matmul((all - log_sum.unsqueeze(3)).exp_().to(v.scalar_type()), v), log_sum};
}

TensorTriple plain_back(const at::Tensor& dy, const TensorTriple& qkv, const AttendedBlock& whole) {
  const auto& [q, k, v] = qkv;
  const at::Tensor shares = (scores(q, k) - whole.log_sum.unsqueeze(3)).exp_();
  const at::Tensor delta = wide(dy * whole.out).sum(at::IntArrayRef{3}, /*keepdim=*/true);
  const at::Tensor dscores =
      (shares * (wide(at::matmul(dy, v.transpose(2, 3))) - delta)).mul_(scale_of(q)).to(q.scalar_type());
  return {at::matmul(dscores, k), at::matmul(dscores.transpose(2, 3), q),
          at::matmul(shares.to(dy.scalar_type()).transpose(2, 3), dy)};
}

/// [B, h, n] as the backward kernel reads it: padded rows have no share in anything.
at::Tensor padded_logs(const at::Tensor& log_sum) {
  const std::int64_t rows = (log_sum.size(2) + kEfficientRows - 1) / kEfficientRows * kEfficientRows;
  return at::constant_pad_nd(log_sum, {0, rows - log_sum.size(2)}, std::numeric_limits<float>::infinity())
      .contiguous();
}

}  // namespace

AttentionKind block_kind(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const TorchForm choice = form_for(q, k, v);
  if (choice == TorchForm::none)
    throw Error(fmt::format("no allowed form of attention runs {} queries over {} keys of {} values in {}",
                            q.size(2), k.size(2), q.size(3), c10::toString(q.scalar_type())),
                "model.attention", "model.attention=auto");
  if (choice == TorchForm::math || (!q.is_cpu() && q.size(3) % kHeadStep != 0)) return AttentionKind::math;
  if (q.is_cpu() || choice == TorchForm::flash) return AttentionKind::flash;
  if (choice == TorchForm::efficient) return AttentionKind::efficient;
  return q.scalar_type() == at::kFloat ? AttentionKind::efficient : AttentionKind::flash;
}

AttendedBlock attend_block(AttentionKind kind, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v) {
  const NoAutocast exact(q.device().type());
  if (kind == AttentionKind::math) return plain(q, k, v);
  if (q.is_cpu()) {
    const auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v);
    return {out, log_sum};
  }
  if (kind == AttentionKind::efficient) {
    const auto found = at::_scaled_dot_product_efficient_attention(q, k, v, {}, /*compute_log_sumexp=*/true);
    return {std::get<0>(found), std::get<1>(found).narrow(2, 0, q.size(2))};
  }
  const auto found = at::_scaled_dot_product_flash_attention(q, k, v);
  return {std::get<0>(found), std::get<1>(found)};
}

TensorTriple attend_block_back(AttentionKind kind, const at::Tensor& dy, const TensorTriple& qkv,
                               const AttendedBlock& whole) {
  const auto& [q, k, v] = qkv;
  const NoAutocast exact(q.device().type());
  if (kind == AttentionKind::math) return plain_back(dy, qkv, whole);
  std::tuple<at::Tensor, at::Tensor, at::Tensor> out;
  if (q.is_cpu()) {
    out = at::_scaled_dot_product_flash_attention_for_cpu_backward(dy, q, k, v, whole.out, whole.log_sum,
                                                                   /*dropout_p=*/0, /*is_causal=*/false);
  } else if (kind == AttentionKind::efficient) {
    const at::Tensor no_seed = at::zeros({}, at::kLong);
    const auto found = at::_scaled_dot_product_efficient_attention_backward(
        dy, q, k, v, {}, whole.out, padded_logs(whole.log_sum), no_seed, no_seed, /*dropout_p=*/0,
        {true, true, true, false});
    out = {std::get<0>(found), std::get<1>(found), std::get<2>(found)};
  } else {
    const at::Tensor no_seed = at::empty({2}, q.options().dtype(at::kUInt64));
    out = at::_scaled_dot_product_flash_attention_backward(
        dy, q, k, v, whole.out, whole.log_sum.contiguous(), {}, {}, q.size(2), k.size(2), /*dropout_p=*/0,
        /*is_causal=*/false, no_seed, at::empty({0}, q.options().dtype(at::kUInt64)));
  }
  return {std::get<0>(out), std::get<1>(out), std::get<2>(out)};
}

void RunningSoftmax::add(const AttendedBlock& part) {
  if (!out_.defined()) {
    out_ = wide(part.out);
    log_sum_ = part.log_sum;
    return;
  }
  const at::Tensor sum = at::logaddexp(log_sum_, part.log_sum);
  out_ = out_ * (log_sum_ - sum).exp_().unsqueeze(3);
  out_.add_(wide(part.out) * (part.log_sum - sum).exp_().unsqueeze(3));
  log_sum_ = sum;
}

AttendedBlock RunningSoftmax::result(at::ScalarType type) const { return {out_.to(type), log_sum_}; }

}  // namespace isobar
