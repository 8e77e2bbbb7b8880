#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "spin.h"

namespace isobar {
namespace {

__device__ unsigned long long now_ns() {
  unsigned long long ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void spin_kernel(unsigned long long duration_ns) {
  const unsigned long long begin_ns = now_ns();
  while (now_ns() - begin_ns < duration_ns) {
  }
}

}  // namespace

void spin(double us, CUstream_st* stream) {
  spin_kernel<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(us * 1e3));
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) throw std::runtime_error(std::string("spin: ") + cudaGetErrorString(code));
}

}  // namespace isobar
