#include "cuda/profiler.h"

#include <driver_types.h>
#include <nvtx3/nvToolsExt.h>

// Functions of the CUDA runtime. Their header, cuda_profiler_api.h, is not among the files that a machine
// without a CUDA toolkit gets.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

namespace isobar {

void push_range(const char* name) noexcept { nvtxRangePushA(name); }
void pop_range() noexcept { nvtxRangePop(); }

void start_profiler() noexcept { cudaProfilerStart(); }
void stop_profiler() noexcept { cudaProfilerStop(); }

}  // namespace isobar
