#include "cuda/memory.h"

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "core/text.h"
#include "cuda/check.h"

namespace isobar {
namespace {

/// Makes `device` the current one while it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(
        "no " + human_bytes(bytes) + " of memory could be locked for the device", "cudaHostAlloc",
        "a smaller batch or a shorter ring needs less; ulimit -l and the machine's free memory bound it",
        Exit::failed);
  }
  check_cuda(code, "cudaHostAlloc");
  return memory;
}

void free_pinned(void* memory) noexcept { cudaFreeHost(memory); }

void upload(void* device, const void* host, std::size_t bytes, CUstream_st* stream) {
  check_cuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
}

FreeAndTotal device_memory_now(int device) {
  const CurrentDevice current(device);
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

}  // namespace isobar
