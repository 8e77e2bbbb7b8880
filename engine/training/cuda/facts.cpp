#include "cuda/facts.h"

#include <cuda_runtime_api.h>

#include "cuda/check.h"

namespace isobar {

CudaFacts read_cuda_facts() {
  CudaFacts facts;
  if (cudaDriverGetVersion(&facts.driver_version) != cudaSuccess) facts.driver_version = 0;
  check_cuda(cudaRuntimeGetVersion(&facts.runtime_version), "cudaRuntimeGetVersion");
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    cudaGetLastError();
    if (code != cudaErrorNoDevice) facts.problem = cuda_error_text(code, "cudaGetDeviceCount");
    return facts;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    facts.devices.push_back({.name = properties.name,
                             .major = properties.major,
                             .minor = properties.minor,
                             .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                             .multiprocessors = properties.multiProcessorCount});
  }
  return facts;
}

}  // namespace isobar
