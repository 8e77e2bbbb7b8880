#pragma once
// Runs CUDA kernels on a processor, one block after the other, so that their indices, their sums and their
// waiting are tested on machines without a GPU. The threads of a block are fibers, each of which runs until
// it waits for others; barriers and warp intrinsics are real ones, and refuse what CUDA leaves undefined. It
// says nothing of speed. What else is looked for depends on the build: watch.h.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

// A structure that a call returns into memory is a store that -fsanitize=thread of g++ 12 does not see.
#undef __device__
#define __device__ __attribute__((always_inline))
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

/// Runs `thread` for each thread of each block. Whatever CUDA leaves undefined ends the program with a
/// sentence that names the launch, the block and the thread: threads of a block that wait for one another in
/// vain; a warp intrinsic that names a lane which has ended or is not there (all masks are of whole warps).
void run(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread);

void wait_for_block();
/// What lane ^ `distance` brings; `bytes` of it, at most eight.
void exchange(const char* intrinsic, unsigned int mask, void* value, std::size_t bytes, int distance);
std::uint64_t sum_of_lanes(const char* intrinsic, unsigned int mask, std::uint64_t value);

/// Memory of this block that `declaration` stands for, not written to yet, for all of its threads.
void* shared_memory(const void* declaration, const char* name, std::size_t bytes, std::size_t alignment);

/// What derive.py makes of `__shared__ Value name;`
template <typename Value>
Value& shared(const void* declaration, const char* name) {
  return *static_cast<Value*>(shared_memory(declaration, name, sizeof(Value), alignof(Value)));
}

}  // namespace isobar::emulated

#define threadIdx (isobar::emulated::here().thread)
#define blockIdx (isobar::emulated::here().block)
#define blockDim (isobar::emulated::here().block_size)
#define gridDim (isobar::emulated::here().grid)

inline void __syncthreads() { isobar::emulated::wait_for_block(); }

template <typename Number>
Number __shfl_xor_sync(unsigned int mask, Number value, int distance) {
  isobar::emulated::exchange("__shfl_xor_sync", mask, &value, sizeof value, distance);
  return value;
}

inline unsigned int __reduce_add_sync(unsigned int mask, unsigned int value) {
  return static_cast<unsigned int>(isobar::emulated::sum_of_lanes("__reduce_add_sync", mask, value));
}

template <typename Number>
Number atomicAdd(Number* to, Number value) {
  return std::atomic_ref<Number>(*to).fetch_add(value, std::memory_order_relaxed);
}

inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }

inline unsigned int __float_as_uint(float value) {
  unsigned int bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

using std::min;

namespace isobar {

/// As far off as the instruction may be, 2^-22, to either side.
inline float near(float value) {
  return value * (1.0F + (__float_as_uint(value) % 2 == 0 ? 0x1p-22F : -0x1p-22F));
}
inline float near_exp2(float x) { return near(std::exp2(x)); }
inline float near_reciprocal(float x) { return near(1.0F / x); }

template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, CUstream_st*,
            const Arguments&... arguments) {
  emulated::run(name, blocks, threads, [&] { kernel(arguments...); });
}

}  // namespace isobar
