#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>

#include "core/error.h"
#include "model/attention_choice.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerances.h"

using namespace isobar;

TEST_CASE("what cannot run here is refused with what can") {
  const AttentionShape shape{.batch = 2, .heads = 2, .tokens = 40, .head_size = 48};
  const std::vector<AttentionKind> here = attention_kinds_here(shape);
  CHECK((here == std::vector{AttentionKind::math, AttentionKind::flash}));  // a CPU has no others
  CHECK(choose_attention(AttentionKind::math, shape) == AttentionKind::math);
  CHECK(choose_attention(AttentionKind::flash, shape) == AttentionKind::flash);
  CHECK(choose_attention(AttentionKind::automatic, shape) == AttentionKind::flash);
  for (const AttentionKind absent : {AttentionKind::efficient, AttentionKind::cudnn}) {
    CHECK_THAT(error_of([&] { choose_attention(absent, shape); }),
               says(std::string("\"") + name_of(absent)) && says("48") && says("auto, math, flash"));
  }
}

TEST_CASE("a guard allows one form and then what was allowed before") {
  const at::Context& context = at::globalContext();
  {
    const AttentionGuard only(AttentionKind::math);
    CHECK(context.userEnabledMathSDP());
    CHECK_FALSE(context.userEnabledFlashSDP());
    {
      const AttentionGuard inner(AttentionKind::flash);
      CHECK(context.userEnabledFlashSDP());
      CHECK_FALSE(context.userEnabledMathSDP());
    }
    CHECK_FALSE(context.userEnabledFlashSDP());
    const AttentionGuard as_it_is(AttentionKind::automatic);
    CHECK_FALSE(context.userEnabledFlashSDP());
  }
  CHECK(context.userEnabledFlashSDP());
}

// What a kernel of our own for heads of 48 would be held to.
TEST_CASE("attention with heads of 48 and 64 is its definition in double precision, gradients too") {
  at::manual_seed(5);
  for (const std::int64_t head : {48, 64}) {
    for (const std::int64_t tokens : {1, 17, 135}) {  // 135: no multiple of any tile
      for (const AttentionKind kind : {AttentionKind::math, AttentionKind::flash}) {
        INFO("head " << head << ", " << tokens << " tokens, " << name_of(kind));
        std::array<at::Tensor, 3> qkv, exact;
        for (std::size_t i = 0; i < 3; ++i) {
          qkv[i] = at::randn({2, 3, tokens, head}).set_requires_grad(true);
          exact[i] = qkv[i].detach().to(at::kDouble).set_requires_grad(true);
        }
        const at::Tensor upstream = at::randn({2, 3, tokens, head});
        const AttentionGuard only(kind);
        const at::Tensor out = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
        out.backward(upstream);
        const at::Tensor scores =
            at::matmul(exact[0], exact[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(head));
        const at::Tensor wanted = at::matmul(at::softmax(scores, -1), exact[2]);
        wanted.backward(upstream.to(at::kDouble));
        CHECK(difference(out.to(at::kDouble), wanted) <= kPrediction * largest(wanted));
        for (std::size_t i = 0; i < 3; ++i) {
          const at::Tensor gradient = exact[i].grad();
          // Of one token the gradients of q and k are zero, and what is left is rounding.
          CHECK(difference(qkv[i].grad().to(at::kDouble), gradient) <=
                std::max(kGradient * largest(gradient), kKeyBias * largest(exact[2].grad())));
        }
      }
    }
  }
}
