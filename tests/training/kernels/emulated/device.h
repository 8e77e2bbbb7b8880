#pragma once
// Runs CUDA kernels on a processor, one block after the other, so that their indices, their sums and their
// waiting are tested on machines without a GPU. The threads of a block are fibers, each of which runs until
// it waits for others; barriers and shuffles are real ones. It says nothing of speed, and races show only
// where the order of threads changes a result: each launch can run them in either order.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#undef __shared__
#define __shared__ static  // one block at a time
#undef __launch_bounds__
#define __launch_bounds__(...)

namespace isobar::emulated {

/// Where the running thread is.
struct Here {
  uint3 thread;
  uint3 block;
  dim3 block_size;
  dim3 grid;
};
const Here& here();

enum class Order { forwards, backwards };
/// In which order threads and blocks run from now on.
void set_order(Order order);

/// Runs `thread` for each thread of each block. Aborts with a sentence when threads of a block wait for one
/// another in vain.
void run(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread);

void wait_for_block();
/// Gives `bytes` of this lane's value to the warp and takes that of lane ^ `distance`.
void exchange(void* value, std::size_t bytes, int distance);

}  // namespace isobar::emulated

#define threadIdx (isobar::emulated::here().thread)
#define blockIdx (isobar::emulated::here().block)
#define blockDim (isobar::emulated::here().block_size)
#define gridDim (isobar::emulated::here().grid)

inline void __syncthreads() { isobar::emulated::wait_for_block(); }

template <typename Number>
Number __shfl_xor_sync(unsigned int, Number value, int distance) {
  isobar::emulated::exchange(&value, sizeof value, distance);
  return value;
}

inline unsigned int __float_as_uint(float value) {
  unsigned int bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

using std::min;

namespace isobar {

template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, CUstream_st*,
            const Arguments&... arguments) {
  emulated::run(name, blocks, threads, [&] { kernel(arguments...); });
}

}  // namespace isobar
