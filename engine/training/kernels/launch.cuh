#pragma once
// How our kernels are started: the one place with the syntax that only nvcc knows, so that a test can run the
// same kernels on a processor (tests/training/kernels/emulated).
#include <cuda_runtime.h>

#include "cuda/check.h"

namespace isobar {

/// Starts `kernel`; `name` is what an Error calls it.
template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, CUstream_st* stream,
            const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), name);
}

}  // namespace isobar
