#pragma once
// CUDA calls that fail become an Error (exit code 1) that names the call and the meaning of its code.
#include <driver_types.h>

#include <string>

namespace isobar {

/// Throws when `code` is not cudaSuccess; `call` is the name of the function that returned it.
void check_cuda(cudaError_t code, const char* call);

/// "cudaEventRecord failed: an illegal memory access was encountered (cudaErrorIllegalAddress)".
std::string cuda_error_text(cudaError_t code, const char* call);

}  // namespace isobar
