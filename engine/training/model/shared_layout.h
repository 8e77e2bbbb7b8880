#pragma once
// How parameters lie in memory where ranks share them out: in buckets, of each of which every rank owns one
// part.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/elastic_tensor.h"

namespace isobar {

class Comm;

/// States on their way between the device and host memory (mesh.offload).
enum class Offloaded : unsigned char { down, up };

/// Who shares parameters out (shard/sharded_states.h), as those see it who read and write whole ones.
class SharesParameters {
 public:
  virtual ~SharesParameters() = default;
  /// The ranks between which each parameter is shared out.
  virtual Comm& group() = 0;
  /// The ranks that own the same part in other groups; null = there is one group.
  virtual Comm* copies() = 0;
  /// Own values were replaced, by a file: all ranks of the group call it alike.
  virtual void own_values_changed() = 0;
  /// So many bytes were moved within this time: they count, and leave a span.
  virtual void offloaded(Offloaded way, std::int64_t begin_us, std::int64_t end_us, std::int64_t bytes) = 0;
};

/// What is decided before there is memory.
struct SharedLayout {
  std::vector<std::vector<std::size_t>> buckets;  ///< leaves of each, by place in Parameters::leaves
  std::int64_t parts = 1;                         ///< ranks that share each bucket
  std::int64_t part = 0;                          ///< this one's
  bool whole_values = true;     ///< all values are here all the time; else those of a bucket come and go
  bool whole_gradients = true;  ///< all gradients are here, or those of a bucket come and go
  bool masters = false;         ///< own values lie apart from the whole ones, which are rounded
  bool host_values = false;     ///< own values lie in host memory (mesh.offload = weights)
  /// Every rank updates everything: gradients travel in parts, and come back whole. `sharer` is null then.
  bool whole_updates = false;
  /// Each bucket ends on a multiple of parts x 16 floats; else the rest behind equal parts is nobody's.
  bool pads = true;
  SharesParameters* sharer = nullptr;  ///< outlives the parameters' use
};

/// A bucket: S = parts x part floats, and what is nobody's. Whole tensors have `count` of them.
struct ParameterBucket {
  std::vector<std::size_t> leaves;
  std::int64_t begin = 0;                ///< first element, as of Parameter::flat_begin
  std::int64_t count = 0;                ///< elements, with padding
  std::int64_t part = 0;                 ///< elements that each rank owns
  std::int64_t own_begin = 0;            ///< first own element among all own ones
  ElasticTensor values, gradients;       ///< whole ones that come and go; empty where they stay
  at::Tensor own_values, own_gradients;  ///< [part]

  /// What ranks own, of a tensor as long as the bucket.
  at::Tensor shared(const at::Tensor& whole, std::int64_t parts) const {
    return whole.narrow(0, 0, parts * part);
  }
};

/// What this process updates, side by side: values and their gradients, [n] float32 each.
struct OwnPiece {
  std::int64_t begin = 0;  ///< first element among all own ones
  at::Tensor values, gradients;
};

/// Where the own elements of a parameter are; count 0 = it owns none.
struct OwnStretch {
  std::int64_t in_parameter = 0;  ///< first one, of the parameter's local part as one row
  std::int64_t in_own = 0;        ///< first one among all own elements
  std::int64_t count = 0;
};

}  // namespace isobar
