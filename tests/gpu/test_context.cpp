// Attention over shared tokens on the device, in each form that hands out logarithms, against one softmax
// over all keys.
#include <ATen/core/IListRef.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "context/block_attention.h"
#include "context/context_world.h"
#include "gpu/gpu.h"
#include "model/attention_choice.h"
#include "model/context_parallel.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerances.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 3, kHeadSize = 8;

struct Form {
  AttentionKind kind;
  at::ScalarType type;
};
const std::vector<Form> kForms = {{AttentionKind::flash, at::kBFloat16},
                                  {AttentionKind::efficient, at::kFloat},
                                  {AttentionKind::efficient, at::kBFloat16},
                                  {AttentionKind::math, at::kFloat},
                                  {AttentionKind::math, at::kBFloat16}};

std::string words_of(const Form& form) {
  return std::string(name_of(form.kind)) + " in " + c10::toString(form.type);
}

/// Efficient attention makes each product of float32 of three in TF32.
double allowed(const Form& form) { return form.type == at::kFloat ? 10 * kGradient : kBfloat16Chain; }

/// [B, h, tokens, d], as the model lays them out.
at::Tensor values_of(std::int64_t tokens, at::ScalarType type) {
  return at::randn({kBatch, tokens, kHeads, kHeadSize}).to(type).transpose(1, 2).to(kGpu);
}

/// The result, and the gradients of q, k and v.
using Results = std::array<at::Tensor, 4>;

/// One softmax over all keys, in double precision.
Results expected_of(const TensorTriple& qkv, const at::Tensor& dy, std::optional<at::Tensor> mask = {}) {
  const AttentionGuard plain(AttentionKind::math);
  TensorTriple leaves;
  for (std::size_t i = 0; i < 3; ++i) leaves[i] = qkv[i].to(at::kDouble).detach().set_requires_grad(true);
  const at::Tensor out = at::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], mask);
  out.backward(dy.to(at::kDouble));
  return {out.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

void check_close(const Results& ours, const Results& expected, double allowed) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO("tensor " << i);
    CHECK(difference(ours[i].to(at::kDouble), expected[i]) <= allowed * largest(expected[i]));
  }
}

}  // namespace

TEST_CASE("on the device softmax over two parts of the keys is that over all, forward and backward") {
  constexpr std::int64_t kQueries = 35, kKeys = 41, kFirst = 17;
  for (const Form& form : kForms) {
    INFO(words_of(form));
    at::manual_seed(3);
    const at::Tensor q = values_of(kQueries, form.type), dy = values_of(kQueries, form.type),
                     k = values_of(kKeys, form.type), v = values_of(kKeys, form.type);
    {
      const AttentionGuard only(form.kind);
      CHECK(block_kind(q, k, v) == form.kind);
    }
    const auto part = [&](const at::Tensor& all, bool is_first) {
      return is_first ? all.narrow(2, 0, kFirst) : all.narrow(2, kFirst, kKeys - kFirst);
    };
    RunningSoftmax sum;
    for (const bool is_first : {true, false})
      sum.add(attend_block(form.kind, q, part(k, is_first), part(v, is_first)));
    const AttendedBlock whole = sum.result(form.type);
    CHECK(whole.out.scalar_type() == form.type);
    CHECK(whole.log_sum.sizes() == at::IntArrayRef({kBatch, kHeads, kQueries}));
    at::Tensor dq = at::zeros(q.sizes(), on_gpu(at::kDouble));
    std::vector<at::Tensor> dk, dv;
    for (const bool is_first : {true, false}) {
      const TensorTriple d =
          attend_block_back(form.kind, dy, {q, part(k, is_first), part(v, is_first)}, whole);
      dq.add_(d[0]);
      dk.push_back(d[1]);
      dv.push_back(d[2]);
    }
    check_close({whole.out, dq, at::cat(dk, 2), at::cat(dv, 2)}, expected_of({q, k, v}, dy), allowed(form));
  }
}

TEST_CASE("on the device a window is a mask of all tokens, whatever the batch before") {
  constexpr std::int64_t kTokens = 150, kWindow = 9;  // blocks of 64 queries see 82 keys
  Config config = config_of_tokens(kTokens, kHeads);
  config.model.window = kWindow;
  Comm comm;
  for (const Form& form : kForms) {
    if (form.kind == AttentionKind::flash) continue;  // takes no mask here
    const AttentionGuard only(form.kind);
    const ContextParallel context(comm, config);
    const at::Tensor mask = window_mask(kTokens, kWindow, at::kDouble).to(kGpu);
    for (const std::int64_t samples : {kBatch, kBatch, std::int64_t{1}}) {
      INFO(words_of(form) << ", " << samples);
      at::manual_seed(5);
      TensorTriple leaves;
      for (at::Tensor& leaf : leaves)
        leaf = values_of(kTokens, form.type).narrow(0, 0, samples).detach().set_requires_grad(true);
      const at::Tensor dy = values_of(kTokens, form.type).narrow(0, 0, samples);
      const at::Tensor out = context.attend(leaves[0], leaves[1], leaves[2]);
      out.backward(dy);
      check_close({out.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()},
                  expected_of({leaves[0].detach(), leaves[1].detach(), leaves[2].detach()}, dy, mask),
                  allowed(form));
    }
  }
}

TEST_CASE("on the device flash takes no mask, and is refused with what does") {
  AttentionShape shape{
      .batch = 2, .heads = 2, .tokens = 64, .head_size = 64, .type = at::kBFloat16, .device = kGpu};
  CHECK(choose_attention(AttentionKind::flash, shape) == AttentionKind::flash);
  shape.keys = 82;
  shape.has_mask = true;
  CHECK_THAT(error_of([&] { choose_attention(AttentionKind::flash, shape); }),
             says("\"flash\"") && says("with a mask") && says("math") && says("efficient"));
  CHECK(choose_attention(AttentionKind::efficient, shape) == AttentionKind::efficient);
  CHECK(choose_attention(AttentionKind::automatic, shape) != AttentionKind::flash);
}
