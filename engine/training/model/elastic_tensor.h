#pragma once
// A flat tensor whose memory can be given back and taken again, on any device.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "record/memory_timeline.h"

namespace isobar {

class ElasticTensor {
 public:
  ElasticTensor() = default;
  /// [count] of the type and device of `options`, without memory yet. Its memory is recorded as
  /// communication.
  ElasticTensor(std::int64_t count, const at::TensorOptions& options);

  /// Views of it stay valid while its memory comes and goes; nothing may read or write them in between.
  const at::Tensor& tensor() const { return tensor_; }
  bool has_memory() const;
  /// Memory of the device's allocator, whose content is not defined. Nothing where there is some.
  void take();
  /// Gives the memory back. On a CUDA device the current stream is the last one that used it, or waits for
  /// those that did.
  void release();

 private:
  at::Tensor tensor_;
};

/// [count] zeros, whose memory is recorded as `category`.
at::Tensor held_zeros(MemoryCategory category, std::int64_t count, const at::TensorOptions& options);

}  // namespace isobar
