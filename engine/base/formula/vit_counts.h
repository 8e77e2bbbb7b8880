#pragma once
// Parameters and floating-point operations of the plain vision transformer, counted from its shape.
// One multiply-add is two operations. N tokens, E embed, D depth, C channels, P patch.
#include <cstdint>

namespace isobar {

struct VitShape {
  std::int64_t height = 360;
  std::int64_t width = 720;
  std::int64_t channels = 20;
  std::int64_t patch = 8;
  std::int64_t embed = 384;
  std::int64_t depth = 12;
  std::int64_t heads = 8;
  double norm_eps = 1e-6;
  bool channels_last = true;  ///< the outputs of a token are ordered (p, q, c), c fastest; else (c, p, q)
  bool batch_norm = false;    ///< norms go over all tokens of a batch, else over the values of each token
  double buffers_mb = 0;      ///< MiB of constant buffers beside the parameters
  std::int64_t window = 0;    ///< w: a token attends to so many on each side only; 0 = to all

  /// N = (H / P)(W / P)
  std::int64_t tokens() const { return height / patch * (width / patch); }
  /// Pairs of a query and a key, A: N^2, or with a window N (2 w + 1) - w (w + 1).
  std::int64_t attended_pairs() const {
    const std::int64_t n = tokens();
    return window == 0 || window >= n ? n * n : n * (2 * window + 1) - window * (window + 1);
  }
};

struct ParameterCounts {
  std::int64_t positions = 0;  ///< N E
  std::int64_t patch = 0;      ///< E C P^2 + E
  std::int64_t blocks = 0;     ///< D (12 E^2 + 13 E): 4 E^2 + 4 E attention, 8 E^2 + 5 E MLP, 4 E norms
  std::int64_t norm = 0;       ///< 2 E
  std::int64_t head = 0;       ///< C P^2 E
  std::int64_t total() const { return positions + patch + blocks + norm + head; }
};

ParameterCounts count_parameters(const VitShape& shape);

/// Operations of one sample's forward pass; element-wise work is not counted, as is the custom.
struct ForwardFlops {
  double attention = 0;  ///< D 4 A E: q k^T and the weighted sum of v; does not depend on the number of heads
  double qkv = 0;        ///< D 6 N E^2
  double projection = 0;  ///< D 2 N E^2
  double mlp = 0;         ///< D 16 N E^2
  double patch = 0;       ///< 2 N C P^2 E
  double head = 0;        ///< 2 N C P^2 E
  double total() const { return attention + qkv + projection + mlp + patch + head; }
};

ForwardFlops count_forward_flops(const VitShape& shape);

/// Forward and backward of one sample: 3 x forward minus the patch term, since the first layer needs no input
/// gradient.
double training_flops(const VitShape& shape);

}  // namespace isobar
