#pragma once
// How our kernels are started, and instructions by name: the one place with syntax of nvcc alone,
// so that a test can run the same kernels on a processor (tests/training/kernels/emulated).
#include <cuda_runtime.h>

#include "cuda/check.h"

namespace isobar {

/// 2^x and 1 / x by one instruction each, to 2^-22 of the result; subnormal ones are 0.
__device__ inline float near_exp2(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
__device__ inline float near_reciprocal(float x) {
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

/// Starts `kernel`; `name` is what an Error calls it.
template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, CUstream_st* stream,
            const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), name);
}

}  // namespace isobar
