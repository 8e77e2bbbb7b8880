#pragma once
// Facts of the CUDA driver of this machine and of its devices.
#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

struct CudaDeviceFacts {
  std::string name;  ///< "NVIDIA A100-SXM4-40GB"
  int major = 0;     ///< compute capability
  int minor = 0;
  std::int64_t memory_bytes = 0;  ///< all of it, in use or not
  int multiprocessors = 0;
};

struct CudaFacts {
  int driver_version = 0;   ///< highest CUDA that the driver serves, 13000 = 13.0; 0 = there is no driver
  int runtime_version = 0;  ///< the CUDA runtime that the plugin is linked to
  std::string problem;      ///< why devices could not be counted, "" when they could
  std::vector<CudaDeviceFacts> devices;
};

/// Asks the driver; starts nothing on any device. What is wrong with driver or devices is in the answer, not
/// thrown.
CudaFacts read_cuda_facts();

}  // namespace isobar
