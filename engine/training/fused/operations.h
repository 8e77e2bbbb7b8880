#pragma once
// The fused kernels (engine/training/kernels) on tensors: the CPU form, or the CUDA plugin's on the current
// stream. Nobody waits for the device. Tensors must be contiguous and lie on one device. Activations are
// float32, float16 or bfloat16, all of one type in a call; parameters, the residual stream, sums and
// statistics are float32. What does not fit is an Error (exit code 1) that names the operation and the
// tensor. R rows, E columns; B samples of C x H x W; N tokens a sample.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "core/seam.h"
#include "kernels/adam.h"
#include "kernels/bias_gelu.h"
#include "kernels/element_type.h"

namespace isobar {

namespace seams {

/// What computes bias and GELU on a CPU: our kernels.
inline constinit Seam<void(const BiasGeluForward& job)> bias_gelu_forward{
    [](const BiasGeluForward& job) { bias_gelu_cpu(job); }};
inline constinit Seam<void(const BiasGeluBackward& job)> bias_gelu_backward{
    [](const BiasGeluBackward& job) { bias_gelu_cpu(job); }};

}  // namespace seams

/// The kernels' name of a tensor's type.
ElementType element_type(const at::Tensor& tensor);

/// gelu(x + bias): [R, E] of x's type. `tanh_form` is the mistake of run.fault = tanh_gelu.
at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh_form = false);

struct BiasGeluGradients {
  at::Tensor x;     ///< [R, E] of x's type
  at::Tensor bias;  ///< [E] float32
};
BiasGeluGradients bias_gelu_backward(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& dy,
                                     bool tanh_form = false);

struct NormParameters {
  at::Tensor weight;  ///< [E]
  at::Tensor bias;    ///< [E]
  double eps = 1e-6;
};

struct ResidualNorm {
  at::Tensor sum;   ///< [R, E] float32: x + a + branch_bias; x itself where nothing is added
  at::Tensor y;     ///< [R, E] of `type`: LayerNorm of it
  at::Tensor mean;  ///< [R]
  at::Tensor rstd;  ///< [R]
};
/// x: [R, E] float32; a: the same of `type`, or undefined; branch_bias: [E], or undefined.
ResidualNorm residual_norm(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias,
                           const NormParameters& norm, at::ScalarType type);

struct ResidualNormGradients {
  at::Tensor x;            ///< [R, E] float32
  at::Tensor a;            ///< [R, E] of dy's type; x itself where that is float32
  at::Tensor weight;       ///< [E]
  at::Tensor bias;         ///< [E]
  at::Tensor branch_bias;  ///< [E], undefined when not wanted
};
/// `forward` is what residual_norm gave; dy: [R, E]; dsum: [R, E] float32, or undefined for zero. `wants_a`:
/// the gradient of a is asked for.
ResidualNormGradients residual_norm_backward(const ResidualNorm& forward, const at::Tensor& weight,
                                             const at::Tensor& dy, const at::Tensor& dsum, bool wants_a,
                                             bool wants_branch_bias);

struct HeadLoss {
  at::Tensor loss;  ///< scalar float32
  at::Tensor sums;  ///< [B, 2] float64
};
/// tokens: [B, N, P P C] or [B N, P P C]; target: [B, C, H, W] float32. P = `patch`.
HeadLoss head_loss(const at::Tensor& tokens, const at::Tensor& target, std::int64_t patch);
/// dloss: scalar float32. Gives the gradient of `tokens`, of their shape and type.
at::Tensor head_loss_backward(const at::Tensor& tokens, const at::Tensor& target, const at::Tensor& sums,
                              const at::Tensor& dloss, std::int64_t patch);

/// What `gradient_norm` writes, and its scratch.
struct GradientNormPlace {
  explicit GradientNormPlace(c10::Device device);
  at::Tensor sum_of_squares;  ///< scalar float64
  at::Tensor nonfinite;       ///< scalar int64
  at::Tensor scratch;
};
/// The norm over all values of `gradients` (float32, any shape).
void gradient_norm(const at::Tensor& gradients, GradientNormPlace& place);

/// One update; all [n] float32 on one device, `control` four float32 there: the fields of AdamControl.
struct AdamTensors {
  at::Tensor weights, gradients, mean, square, control;
};
void adam(const AdamTensors& tensors, double beta1, double beta2, double eps);

}  // namespace isobar
