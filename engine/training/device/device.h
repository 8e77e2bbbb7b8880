#pragma once
// Where tensors live and how many threads work on them.
#include <c10/core/Device.h>

#include <string>

#include "config/choices.h"

namespace isobar {

/// "auto", "cpu", "cuda" or "cuda:N" as a device that is really there. What is not there is refused (Error,
/// exit code 2): nothing is replaced silently. "auto" takes the first CUDA device when this build can use it,
/// else the CPU. A CUDA device becomes the current one of this thread. Call it before any tensor operation:
/// libtorch keeps its first answer to the question whether there is CUDA.
c10::Device choose_device(const std::string& name);

/// The kind of device that "auto" means here, "cpu" or "cuda"; a preset is picked by it before any tensor
/// exists. Loads the CUDA plugin when a driver and a plugin are there, and nothing else.
std::string automatic_device_kind();

/// Fixes the number of threads of tensor operations (0 = as core/processors.h gives one of `sharers`
/// processes) and makes them deterministic: same threads, same machine type, same bits. Returns the number.
/// Call it first, before any tensor operation.
int set_up_cpu(int threads, int sharers = 1);

/// Whether operators on `device` whose bits may differ from run to run are left out, by the values of
/// run.deterministic: yes, no, or automatic, which is yes on a CPU, where it costs nothing, and no on a
/// device: libtorch then refuses attention of cuDNN and takes a slower backward of flash
/// (check_cudnn_deterministic in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp). Call it behind
/// set_up_cpu.
bool set_deterministic(Determinism wanted, c10::Device device);

/// The device as its maker calls it, with what matters of it: "NVIDIA H200, 150.1 GB, driver 580.65.06", or
/// processor and instruction set of its kernels.
std::string device_text(c10::Device device);

/// The instruction set that tensor kernels were selected for, such as "AVX512".
std::string cpu_capability();

}  // namespace isobar
