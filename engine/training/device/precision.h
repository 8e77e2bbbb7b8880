#pragma once
// In which numbers a device computes: what amp.mode may be on it, and what that will give.
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

#include "config/choices.h"
#include "core/cpu_instructions.h"

namespace isobar {

/// The 16-bit type of fp16 and bf16; nothing for the others.
std::optional<c10::ScalarType> half_type(AmpMode mode);

/// What decides which precisions a device can do.
struct PrecisionFacts {
  bool is_cuda = false;
  int major = 0;  ///< compute capability of a CUDA device
  int minor = 0;
  CpuInstructions cpu = {};  ///< instructions of the processor, where it is the device
};

/// Facts of a device that is there; asks the CUDA plugin about a CUDA device.
PrecisionFacts precision_facts(c10::Device device);

/// none (fp32), tf32, fp16 or bf16 for `mode`: automatic means tf32 on CUDA and none on the CPU; mixed means
/// bf16 where the device has instructions for it, else what automatic means. What the device cannot do is an
/// Error (exit code 2): TF32 on a CPU; bf16 and TF32 on CUDA before compute capability 8.0, fp16 before 5.3.
/// A CPU without instructions for 16 bits emulates them.
AmpMode choose_precision(AmpMode mode, const PrecisionFacts& facts);
AmpMode choose_precision(AmpMode mode, c10::Device device);

/// Whether the 16 bits of a resolved mode are emulated (device/emulated_products.h): their speed is that of
/// fp32.
bool emulates(AmpMode mode, const PrecisionFacts& facts);

/// Makes fp32 products on CUDA devices what the resolved `mode` says: TF32 with tf32, real fp32 with all
/// others. Left alone, libtorch would let convolutions use TF32. Changes nothing on the CPU.
void apply_precision(AmpMode mode);

/// One sentence of what 16 bits will give on this processor, before anything is measured; "" for fp32, TF32
/// and CUDA devices.
std::string precision_sentence(AmpMode mode, const PrecisionFacts& facts);

}  // namespace isobar
