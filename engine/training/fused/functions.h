#pragma once
// The fused operations as autograd sees them: forward keeps exactly what backward needs, and backward is a
// fused kernel too. None of them can be differentiated twice; that is refused (Error, exit code 1). R rows
// (tokens of all samples), E embed, F hidden, B batch, N tokens, C channels, P patch, h heads.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "fused/operations.h"
#include "fused/remade.h"

namespace isobar {

/// A weight as a matrix product takes it: the leaf, and its values in the type of the activations.
struct Weight {
  at::Tensor leaf;    ///< float32, wants a gradient
  at::Tensor values;  ///< the leaf itself, or a cast of it
};

struct LinearForm {
  std::optional<Remade> input = {};  ///< x is not kept but made again
  /// False: only backward is asked for, and nothing is multiplied; the values of the result mean nothing.
  bool value_wanted = true;
};

/// x W^T + b: [R, inputs] -> [R, outputs], both of the type of W's values. `bias` has that type too, or is
/// undefined; its leaf is not asked for here: it is `bias_leaf`. The gradient of W goes straight into the
/// leaf's .grad, where there is one: a matrix product that adds, instead of one that writes and a pass that
/// adds. Where a PutOff (fused/weight_gradients.h) lives on this thread backward leaves it, and the bias's,
/// for later.
at::Tensor linear(const at::Tensor& x, const Weight& weight, const Weight& bias = {},
                  const LinearForm& form = {});

/// patches W^T + b + positions, [B N, C P P] -> [B N, E] float32. The gradient of W can be left for
/// later, too; those of patches, b and positions cannot.
at::Tensor embed_patches(const at::Tensor& patches, const Weight& weight, const at::Tensor& bias,
                         const at::Tensor& positions);

/// Views of q, k and v for attention, each [B, h, N, E/h], of [B N, 3E]; their gradients come back in one
/// piece.
std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv, std::int64_t batch, std::int64_t heads);

/// gelu(x + bias), [R, F] -> [R, F], in its erf form or, with `tanh`, the other one. Keeps x alone.
at::Tensor fused_bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh = false);

struct Normed {
  at::Tensor sum;  ///< [R, E] float32: the residual stream
  at::Tensor y;    ///< [R, E] of the activations' type: LayerNorm of it
};
/// LayerNorm of x + (a + branch_bias), and that sum. Keeps the sum and two values a row.
Normed fused_residual_norm(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias,
                           const NormParameters& norm);
/// The first norm of all, before anything is added. Its `sum` is x: use that one from here on, so that both
/// gradients of x meet in the kernel.
Normed fused_norm(const at::Tensor& x, const NormParameters& norm, at::ScalarType type);

/// x + (a + branch_bias), [R, E] float32, which no norm follows here: `sum` of fused_residual_norm to the
/// bit, and with the gradient that reaches the sum there the same gradients of x, a and branch_bias.
/// `branch_bias` may be undefined. Keeps nothing.
at::Tensor fused_sum(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias);

/// The relative L2 loss (model/relative_l2.h) of tokens [B N, P P C] against target [B, C, H, W]. Keeps
/// tokens and target.
at::Tensor fused_head_loss(const at::Tensor& tokens, const at::Tensor& target, std::int64_t patch);

}  // namespace isobar
