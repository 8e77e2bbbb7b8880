// Compiled into libisobar_cuda.so only.
#include "cuda/nccl.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <array>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "core/error.h"
#include "cuda/check.h"

namespace isobar {

static_assert(NCCL_VERSION_CODE == kNcclVersion,
              "nccl.h must be that of the NCCL that libtorch was built with");

c10d::Backend* make_nccl_backend(c10d::Store* store, const NcclGroup& group) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version != kNcclVersion) {
    throw Error(fmt::format("NCCL {} is loaded, and {} is needed", version, kNcclVersion), "libnccl.so.2",
                "LD_LIBRARY_PATH or LD_PRELOAD bring another one in", Exit::failed);
  }
  auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = std::chrono::milliseconds(static_cast<std::int64_t>(group.timeout_s * 1e3));
  auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(store), group.rank, group.size, options);
  return backend.release();
}

std::string current_device_address() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  std::array<char, 32> address{};
  check_cuda(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device),
             "cudaDeviceGetPCIBusId");
  return address.data();
}

}  // namespace isobar
