#pragma once
// One parameter of a model: what it is, how it starts, and where it lies.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

/// How a parameter starts. Values depend on (seed, name, full shape) only, never on the order in which layers
/// are made.
enum class Init {
  zeros,
  ones,
  truncated_normal,  ///< standard deviation 0.02, cut at +-2 (never met)
  fan_in_uniform     ///< uniform in +-1/sqrt(values per output), PyTorch's default for convolutions
};

/// Which part of the full parameter this process holds. The default is all of it.
struct Shard {
  std::int64_t dim = 0;
  std::int64_t index = 0;
  std::int64_t count = 1;
  bool draws_own = true;  ///< false: its first values are those of part 0

  std::int64_t drawn() const { return draws_own ? index : 0; }
};

struct ParameterSpec {
  std::string name;                      ///< name in the tutorial's state_dict
  std::vector<std::int64_t> full_shape;  ///< over all shards
  Init init = Init::zeros;
  std::int64_t fan_in = 0;  ///< values that feed one output, for Init::fan_in_uniform
  Shard shard = {};
  /// Each rank of a model computes a part of its gradient only (TensorParallel::sum_partial_gradients).
  bool sums_over_tp = false;
  /// Each rank that shares the tokens computes a part of its gradient only
  /// (ContextParallel::sum_partial_gradients).
  bool sums_over_cp = false;
};

struct Parameter : ParameterSpec {
  at::Tensor tensor;            ///< the local part, a leaf that wants a gradient
  std::int64_t flat_begin = 0;  ///< first element in the flat buffers, known after `materialise`
};

}  // namespace isobar
