// Splitting a model over ranks: bytes on the wire and in memory, against worked examples.

#include "formula/tensor_parallel.h"
#include "formula/vit_memory.h"
#include "support/catch.h"

namespace isobar::test_tensor_parallel {

namespace {

const VitShape kMp = {.embed = 1024};  // 157.9 million parameters, 4050 tokens

}  // namespace

TEST_CASE("wire bytes of the preset mp on four ranks, as published and with gradients in 16 bits") {
  const TensorParallelForm form{.tp = 4, .samples = 16, .value_bytes = 2, .gradient_bytes = 2};
  CHECK(tensor_parallel_wire_bytes(kMp, form) == Approx(9.55e9).epsilon(0.01));
  // The tutorial's code: two all-reduces of 16 bits forward, four of 32 bits backward (q, k and v each its
  // own).
  TensorParallelForm wide = form;
  wide.gradient_bytes = 8;
  CHECK(tensor_parallel_wire_bytes(kMp, wide) == Approx(23.9e9).epsilon(0.01));
  CHECK(tensor_parallel_calls(kMp, form) == 4 * 12 + 1);
  TensorParallelForm own = form;
  own.tokens = 1013;  // four ranks share 4050
  CHECK(tensor_parallel_wire_bytes(kMp, own) == Approx(9.55e9 * 1013 / 4050).epsilon(0.01));
  CHECK(tensor_parallel_calls(kMp, {.tp = 1}) == 0);
  CHECK(tensor_parallel_wire_bytes(kMp, {.tp = 1, .samples = 16}) == 0);
}

TEST_CASE("shared tokens cost the same on the wire, and what is gathered at the end") {
  const TensorParallelForm form{.tp = 4, .samples = 16, .value_bytes = 2, .gradient_bytes = 2};
  TensorParallelForm shares = form;
  shares.shares_tokens = true;
  const double more = tensor_parallel_wire_bytes(kMp, shares) - tensor_parallel_wire_bytes(kMp, form);
  const ParameterCounts counts = count_parameters(kMp);
  const auto partial = static_cast<double>(counts.positions + counts.patch + counts.norm + 12 * 6 * 1024);
  CHECK(more == Approx(0.75 * 16 * 4050 * 1024 * 2 + 2 * 0.75 * 4 * partial));
  CHECK(tensor_parallel_calls(kMp, shares) == 8 * 12 + 3);
}

TEST_CASE("parameters on a rank: matrices are shared out, the rest is whole") {
  CHECK(parameters_on_rank(kMp, 1) == 157'926'400);
  const std::int64_t split = 12 * (12 * 1024 * 1024 + 7 * 1024);
  CHECK(parameters_on_rank(kMp, 4) == 157'926'400 - split + split / 4);
}

TEST_CASE(
    "activations of a block are 64 bytes a token and channel in fp32, 40 and 36 in 16 bits, and 16 + 24/t") {
  const auto of_block = [](TrainingForm form) {
    form.batch = 16;
    VitShape deeper = kMp;
    deeper.depth = 13;
    const auto more =
        count_training_bytes(deeper, form).activations - count_training_bytes(kMp, form).activations;
    return static_cast<double>(more) / (16.0 * 4050 * 1024);
  };
  const auto about = [](double bytes) { return Approx(bytes).epsilon(6e-3); };  // and a few of each token
  const KeptForm half{.value_bytes = 2};
  CHECK(of_block({}) == about(64));
  CHECK(of_block({.kept = {.value_bytes = 2, .plain = true}}) == about(40));
  CHECK(of_block({.kept = half, .fused = true}) == about(36));
  CHECK(of_block({.kept = {.value_bytes = 2, .tp = 4, .plain = true}}) == about(16 + 24 / 4));
  CHECK(of_block({.kept = {.tp = 4}}) == about(16 + 48.0 / 4));
  CHECK(of_block({.kept = {.value_bytes = 2, .tp = 4, .shares_tokens = true}, .fused = true}) ==
        about(2 + 4 + 6));
  // What is computed again is not kept: derived in formula/recompute.h.
  CHECK(of_block({.kept = {.kind = CheckpointKind::cheap, .value_bytes = 2}, .fused = true}) == about(24));
  CHECK(of_block({.kept = {.kind = CheckpointKind::selective, .value_bytes = 2}, .fused = true}) ==
        about(12));
  CHECK(of_block({.kept = {.kind = CheckpointKind::block, .value_bytes = 2}, .fused = true}) == about(4));
  // The published 41.20 GiB of mp on one A100: 32.4 GB of them are these (16 samples, eager 16 bits).
  const TrainingForm eager{.batch = 16, .kept = {.value_bytes = 2, .plain = true}};
  CHECK(static_cast<double>(count_training_bytes(kMp, eager).activations) == Approx(32.4e9).epsilon(0.01));
}

}  // namespace isobar::test_tensor_parallel
