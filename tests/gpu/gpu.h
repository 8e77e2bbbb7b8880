#pragma once
// The device that these tests use, and its current stream as our kernels take it.
#include <ATen/core/Tensor.h>

#include "device/stream.h"

namespace isobar {

inline const c10::Device kGpu(c10::kCUDA, 0);

inline at::TensorOptions on_gpu(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(type).device(kGpu);
}

inline CUstream_st* gpu_stream() { return stream_handle(current_stream(kGpu)); }

}  // namespace isobar
