#pragma once
// The layers of the plain vision transformer. B batch, N tokens, E embed, F = 4E, h heads, C channels, P
// patch, H x W image with N = (H/P)(W/P). Linear layers compute y = x W^T + b; GELU is the exact erf form.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "formula/vit_counts.h"
#include "model/parameters.h"
#include "model/tensor_parallel.h"

namespace isobar {

/// How the ranks of a model share a layer. Those of blocks, which are split, see the tokens that this rank
/// has (ParameterSpec::sums_over_cp).
enum class Split {
  none,     ///< each has all of it
  outputs,  ///< rows of W and its bias: each has some of the outputs
  inputs    ///< columns of W: each has a part of the sum, which is added up before the bias
};

struct Linear {
  Linear(Parameters& parameters, const std::string& name, std::int64_t inputs, std::int64_t outputs,
         bool has_bias = true, const TensorParallel& ranks = {}, Split split = Split::none);
  /// [..., inputs] -> [..., outputs]. In front of a layer split by outputs ranks.enter is up to the caller.
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor weight;  ///< [outputs, inputs], or this rank's piece
  at::Tensor bias;    ///< [outputs], or this rank's piece; undefined without one
  std::string name;   ///< its module, as in the parameters' names
  TensorParallel ranks;
  Split split;
};

/// Buffers of a norm over the batch, [E] each; both undefined for a norm over each token.
struct RunningMoments {
  at::Tensor mean, variance;
};

/// [..., E] -> [..., E], less its mean and over its standard deviation, times weight [E] plus bias [E].
/// Without running moments those of each token, over its E values (LayerNorm). With them those of each of the
/// E values, over all tokens of this rank's batch (BatchNorm): its own where gradients are wanted, which move
/// the running ones a tenth of the way, the variance unbiased; the running ones, left as they are, under
/// NoGradGuard, as in validation. (PyTorch's BatchNorm, without its count of batches, which nothing reads.)
at::Tensor normalised(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const RunningMoments& running, double eps);

/// LayerNorm, or BatchNorm with `over_batch`.
struct Norm {
  Norm(Parameters& parameters, const std::string& name, std::int64_t embed, const TensorParallel& ranks = {},
       double eps = 1e-6, bool over_batch = false);
  /// [..., E] -> [..., E]
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor weight;  ///< [E]
  at::Tensor bias;    ///< [E]
  RunningMoments running;
  double eps;
  std::string name;
};

/// Non-overlapping P x P patches, each mapped to E values: a convolution whose kernel is its stride.
struct PatchEmbed {
  PatchEmbed(Parameters& parameters, const std::string& name, std::int64_t channels, std::int64_t patch,
             std::int64_t embed, const TensorParallel& ranks = {});
  /// [B, C, H, W] -> [B, N, E]; token n = row * (W/P) + column
  at::Tensor operator()(const at::Tensor& image) const;

  at::Tensor weight;  ///< [E, C, P, P]
  at::Tensor bias;    ///< [E]
  std::int64_t patch;
  std::string name;
};

/// softmax(q k^T (E/h)^-0.5) v over all tokens, per head, without a mask: three [B, N, E] -> [B, N, E].
at::Tensor mix_tokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t heads);

/// mix_tokens between its projections.
struct Attention {
  Attention(Parameters& parameters, const std::string& name, std::int64_t embed, std::int64_t heads,
            const TensorParallel& ranks = {});
  /// [B, N, E] -> [B, N, E]
  at::Tensor operator()(const at::Tensor& x) const;

  Linear q, k, v;      ///< split by outputs: each rank has whole heads
  Linear proj;         ///< split by inputs
  std::int64_t heads;  ///< on this rank
  std::string name;
};

struct Mlp {
  Mlp(Parameters& parameters, const std::string& name, std::int64_t embed, const TensorParallel& ranks = {});
  /// [B, N, E] -> [B, N, F] -> [B, N, E]
  at::Tensor operator()(const at::Tensor& x) const;

  Linear fc1;  ///< split by outputs
  Linear fc2;  ///< split by inputs
  std::string name;
};

/// x + attention(norm1(x)), then x + mlp(norm2(x)).
struct Block {
  Block(Parameters& parameters, const std::string& name, std::int64_t embed, std::int64_t heads,
        const TensorParallel& ranks = {}, double norm_eps = 1e-6, bool batch_norm = false);
  /// [B, N, E] -> [B, N, E]
  at::Tensor operator()(at::Tensor x) const;

  Norm norm1, norm2;  // declared before attention: this is the order of the tutorial's state_dict
  Attention attention;
  Mlp mlp;
  std::string name;
};

/// [B, N, C P P] -> [B, C, H, W]. The outputs of a token are ordered (p, q, c), c fastest, which is not the
/// order (c, p, q) of the patch embedding's weights: taken for it (shape.channels_last = false), maps show
/// tiles.
at::Tensor unpatch(const at::Tensor& tokens, const VitShape& shape);

}  // namespace isobar
