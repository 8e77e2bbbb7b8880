#include "device/emulated_products.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_native.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

namespace isobar {
namespace {

using at::Scalar;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool is_emulated(const Tensor& tensor) { return emulates_products(tensor.scalar_type(), cpu_instructions()); }

/// Types that do not fit are left to libtorch, which refuses them in its words.
bool are_emulated(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && is_emulated(a);
}

/// What happens inside an emulated operation is not counted as operations of the model.
using Unseen = at::DisableRecordFunctionGuard;

Tensor wide(const Tensor& tensor) { return tensor.to(at::kFloat); }

OptionalTensor wide(const OptionalTensor& tensor) {
  return tensor && tensor->defined() && is_emulated(*tensor) ? OptionalTensor(wide(*tensor)) : tensor;
}

Tensor mm(const Tensor& a, const Tensor& b) {
  if (!are_emulated(a, b)) return at::cpu::mm(a, b);
  const Unseen unseen;
  return at::cpu::mm(wide(a), wide(b)).to(a.scalar_type());
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (!are_emulated(a, b)) return at::cpu::bmm(a, b);
  const Unseen unseen;
  return at::cpu::bmm(wide(a), wide(b)).to(a.scalar_type());
}

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (!are_emulated(a, b)) return at::cpu::addmm(c, a, b, beta, alpha);
  const Unseen unseen;
  return at::cpu::addmm(wide(c), wide(a), wide(b), beta, alpha).to(a.scalar_type());
}

Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (!are_emulated(a, b)) return at::cpu::baddbmm(c, a, b, beta, alpha);
  const Unseen unseen;
  return at::cpu::baddbmm(wide(c), wide(a), wide(b), beta, alpha).to(a.scalar_type());
}

/// Gives what it did before beside the logarithms of the sums, which are float32 in any case.
std::tuple<Tensor, Tensor> attention(const Tensor& q, const Tensor& k, const Tensor& v, double dropout,
                                     bool causal, const OptionalTensor& mask, std::optional<double> scale) {
  const auto plain = at::native::_scaled_dot_product_flash_attention_cpu;
  if (!is_emulated(q)) return plain(q, k, v, dropout, causal, mask, scale);
  const Unseen unseen;
  const auto [out, sums] = plain(wide(q), wide(k), wide(v), dropout, causal, wide(mask), scale);
  return {out.to(q.scalar_type()), sums};
}

std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k,
                                                      const Tensor& v, const Tensor& out, const Tensor& sums,
                                                      double dropout, bool causal, const OptionalTensor& mask,
                                                      std::optional<double> scale) {
  const auto plain = at::native::_scaled_dot_product_flash_attention_cpu_backward;
  if (!is_emulated(q)) return plain(dout, q, k, v, out, sums, dropout, causal, mask, scale);
  const Unseen unseen;
  const auto [dq, dk, dv] =
      plain(wide(dout), wide(q), wide(k), wide(v), wide(out), sums, dropout, causal, wide(mask), scale);
  const auto narrow = [&](const Tensor& tensor) { return tensor.to(q.scalar_type()); };
  return {narrow(dq), narrow(dk), narrow(dv)};
}

/// libtorch warns once that kernels of its own were replaced; that is what is wanted here.
class NoWarning : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

torch::Library registered() {
  NoWarning no_warning;
  const c10::WarningUtils::WarningHandlerGuard silence(&no_warning);
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  library.impl("mm", mm);
  library.impl("bmm", bmm);
  library.impl("addmm", addmm);
  library.impl("baddbmm", baddbmm);
  library.impl("_scaled_dot_product_flash_attention_for_cpu", attention);
  library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward);
  return library;
}

}  // namespace

bool emulates_products(c10::ScalarType type, const CpuInstructions& cpu) {
  return (type == at::kBFloat16 && !cpu.multiplies_bf16()) || (type == at::kHalf && !cpu.multiplies_fp16());
}

void emulate_products() {
  const CpuInstructions& cpu = cpu_instructions();
  if (!emulates_products(at::kBFloat16, cpu) && !emulates_products(at::kHalf, cpu)) return;
  static const torch::Library library = registered();
}

}  // namespace isobar
