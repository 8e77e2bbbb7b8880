#pragma once
// Where tensors live and how many threads work on them.
#include <c10/core/Device.h>

#include <string>

namespace isobar {

/// "auto", "cpu", "cuda" or "cuda:N" as a device that is really there. What is not there is refused (Error,
/// exit code 2): nothing is replaced silently. "auto" takes a CUDA device when this build can use one, else
/// the CPU.
c10::Device choose_device(const std::string& name);

/// The kind of device that "auto" means here, "cpu" or "cuda"; a preset is picked by it before any tensor
/// exists.
std::string automatic_device_kind();

/// "none" (fp32) or "tf32" for `mode`: "auto" means tf32 on CUDA and none on the CPU. TF32 exists on CUDA
/// only; asking for it on the CPU is an Error (exit code 2).
std::string choose_precision(const std::string& mode, c10::Device device);

/// Cores this process may run on (its affinity mask), at least 1.
int usable_cores();

/// Fixes the number of threads of tensor operations (0 = usable_cores()) and makes them repeatable: same
/// threads, same machine type, same bits. Returns the number. Call it first, before any tensor operation.
int set_up_cpu(int threads);

/// "AMD EPYC 9654" or what the system calls its processor.
std::string cpu_name();

/// Most bytes that this process held in memory at once so far.
std::int64_t peak_resident_bytes();

/// The instruction set that tensor kernels were selected for, such as "AVX512".
std::string cpu_capability();

}  // namespace isobar
