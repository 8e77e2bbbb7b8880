#pragma once
// All tolerances of the numerical proofs, in one place.

namespace isobar {

/// |difference| <= kGradient x max(largest value of the tensor, kFloor x largest gradient of the model).
inline constexpr double kGradient = 1e-5;
inline constexpr double kGradientFloor = 1e-3;
/// The true gradient of an attention's key bias is zero: softmax does not see a constant. Against the query
/// bias's.
inline constexpr double kKeyBias = 1e-6;
/// Predictions, of the largest value.
inline constexpr double kPrediction = 1e-5;
/// Losses after each of ten Adam steps.
inline constexpr double kLoss = 1e-6;
/// The same of the fused model against PyTorch's plain one: its loss adds 10^5 squares in float32, ours in
/// float64.
inline constexpr double kLossFused = 5e-6;
/// Losses of twenty Adam steps on a CUDA device in fp32 against the CPU, relative: sums run in another order,
/// and Adam's first steps turn the rounding of small gradients into whole steps.
inline constexpr double kLossAcrossDevices = 1e-4;
/// The same where matrices are multiplied in TF32, whose 10 bits of fraction round by up to 2^-11.
inline constexpr double kLossTf32 = 5e-4;
/// Losses of ten Adam steps in bf16 against PyTorch's autocast, of losses near 1: bf16 rounds by up to 2^-9,
/// and forms of attention and products add up in another order.
inline constexpr double kLossBf16 = 2e-3;
/// Losses after 200 steps in bf16 or fp16 against fp32, relative.
inline constexpr double kLossHalf = 0.02;
/// Weights after ten Adam steps, of the tensor's largest; key biases left out.
inline constexpr double kWeightsAfterTen = 1e-4;
/// Scores (RMSE, ACC), absolute.
inline constexpr double kScore = 1e-6;

/// What one rounding of float32 may cost, of the value; kernels are asked for a few of them, plus one
/// rounding of the type that they write (support/typed_values.h).
inline constexpr double kFloatStep = 0x1p-24;

/// Results of a few operations with bfloat16 activations against the same in PyTorch, of the largest: each
/// operation rounds its result by up to 2^-9, and PyTorch has more of them.
inline constexpr double kBfloat16Chain = 0x1p-6;

}  // namespace isobar
