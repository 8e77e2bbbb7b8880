#pragma once
// In which numbers a device computes: what amp.mode may be on it, and what that will give.
#include <c10/core/Device.h>

#include <string>

#include "core/cpu_instructions.h"

namespace isobar {

/// What decides which precisions a device can do.
struct PrecisionFacts {
  bool is_cuda = false;
  int major = 0;  ///< compute capability of a CUDA device
  int minor = 0;
  CpuInstructions cpu = {};  ///< of the processor, where it is the device
};

/// Of a device that is there; asks the CUDA plugin about a CUDA device.
PrecisionFacts precision_facts(c10::Device device);

/// "none" (fp32), "tf32", "fp16" or "bf16" for `mode`: "auto" means tf32 on CUDA and none on the CPU; "mixed"
/// means bf16 where the device has instructions for it, else what auto means. What
/// the device cannot do is an Error (exit code 2): TF32 on a CPU; fp16 on a CPU without AVX512-FP16; bf16 and
/// TF32 on CUDA before compute capability 8.0, fp16 before 5.3. bf16 on a CPU without instructions for it is
/// slow, and no error.
std::string choose_precision(const std::string& mode, const PrecisionFacts& facts);
std::string choose_precision(const std::string& mode, c10::Device device);

/// Makes fp32 products on CUDA devices what the resolved `mode` says: TF32 with "tf32", real fp32 with all
/// others. Left alone, libtorch would let convolutions use TF32. Changes nothing on the CPU.
void apply_precision(const std::string& mode);

/// One sentence of what 16 bits will give on this processor, before anything is measured; "" for fp32, TF32
/// and CUDA devices.
std::string precision_sentence(const std::string& mode, const PrecisionFacts& facts);

}  // namespace isobar
