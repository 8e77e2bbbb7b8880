#include "cuda/check.h"

#include <cuda_runtime_api.h>

#include "core/error.h"

namespace isobar {
namespace {

const char* hint_for(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "a smaller batch, model or grid needs less; nvidia-smi shows who else uses the device";
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return "--set run.device=cpu runs the same program on the processor";
    case cudaErrorDevicesUnavailable:
      return "another process holds the device for itself; nvidia-smi shows it";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
      return "a kernel that was started earlier failed, and the device is lost to this process; "
             "CUDA_LAUNCH_BLOCKING=1 finds which one";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
      return "the device itself is at fault; nvidia-smi -q and the system's log have more";
    case cudaErrorNoKernelImageForDevice:
      return "the plugin holds no code for this device; ./isobar --cuda setup builds it anew, in a bundle "
             "./run.sh rebuild-plugin";
    default:
      return "";
  }
}

}  // namespace

std::string cuda_error_text(cudaError_t code, const char* call) {
  return std::string(call) + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
}

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // a code that is not fatal must not be found again by the next call that looks
  throw Error(cuda_error_text(code, call), "CUDA", hint_for(code), Exit::failed);
}

}  // namespace isobar
