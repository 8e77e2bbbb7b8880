// Attention with the head size of base, 48, against its definition, forward and backward: every form of
// libtorch's that runs here, as a kernel of our own would have to.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros_like.h>

#include "config/choices.h"
#include "model/attention_choice.h"
#include "support/attention_reference.h"
#include "support/catch.h"
#include "support/tolerances.h"

using namespace isobar;

namespace {

std::vector<double> values_of(const at::Tensor& rows) {
  const at::Tensor flat = rows.detach().to(at::kDouble).contiguous();
  const double* const begin = flat.const_data_ptr<double>();
  return {begin, begin + flat.numel()};
}

/// [B, h, N, d] of q, k, v and the gradient of the output.
struct Operands {
  at::Tensor q, k, v, dout;
};

/// out, dq, dk, dv of all heads by the definition.
std::vector<at::Tensor> expected_of(const Operands& in) {
  std::vector<at::Tensor> out(4);
  for (at::Tensor& one : out) one = at::zeros_like(in.q, at::kDouble);
  for (std::int64_t b = 0; b < in.q.size(0); ++b) {
    for (std::int64_t h = 0; h < in.q.size(1); ++h) {
      AttentionHead head{static_cast<std::size_t>(in.q.size(2)),
                         static_cast<std::size_t>(in.q.size(3)),
                         values_of(in.q[b][h]),
                         values_of(in.k[b][h]),
                         values_of(in.v[b][h]),
                         values_of(in.dout[b][h])};
      const AttentionResult result = attention_reference(head);
      const std::vector<double>* const parts[] = {&result.out, &result.dq, &result.dk, &result.dv};
      for (std::size_t i = 0; i < out.size(); ++i) {
        at::Tensor to = out[i][b][h];
        std::copy(parts[i]->begin(), parts[i]->end(), to.mutable_data_ptr<double>());
      }
    }
  }
  return out;
}

void check_attention(AttentionKind kind, const Operands& in, double tolerance) {
  const std::vector<at::Tensor> expected = expected_of(in);
  const auto leaf = [](const at::Tensor& values) { return values.detach().clone().set_requires_grad(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const AttentionGuard only(kind);
  const at::Tensor out = at::scaled_dot_product_attention(q, k, v);
  out.backward(in.dout);
  const at::Tensor found[] = {out.detach(), q.grad(), k.grad(), v.grad()};
  static constexpr const char* kNames[] = {"out", "dq", "dk", "dv"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(kNames[i]);
    // Operands are of the order of one; of one token dq and dk are differences that are truly zero.
    CHECK(difference(found[i].to(at::kDouble), expected[i]) <=
          tolerance * std::max(largest(expected[i]), 1.0));
  }
}

}  // namespace

TEST_CASE("attention with heads of 48 and of 64 is its definition, forward and backward") {
  for (const std::int64_t size : {48, 64}) {
    for (const std::int64_t tokens : {1, 37, 130}) {  // multiples of no tile
      for (const auto& [type, tolerance] :
           {std::pair{at::kFloat, kGradient}, std::pair{at::kBFloat16, kBfloat16Chain}}) {
        const auto drawn = [&, t = type](double scale) {
          return (at::randn({2, 3, tokens, size}) * scale).to(t);
        };
        // Scores of a few units: the softmax is far from uniform.
        const Operands in = {drawn(2), drawn(1), drawn(1), drawn(1)};
        const std::vector<AttentionKind> kinds =
            attention_kinds_here({.batch = 2, .heads = 3, .tokens = tokens, .head_size = size, .type = type});
        REQUIRE_FALSE(kinds.empty());
        for (const AttentionKind kind : kinds) {
          INFO("heads of " << size << ", " << tokens << " tokens, " << at::toString(type) << ", form "
                           << static_cast<int>(kind));
          check_attention(kind, in, tolerance);
        }
      }
    }
  }
}
