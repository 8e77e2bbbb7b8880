#pragma once
// Which instructions this process may use: those of the processor, asked of it (the instruction cpuid, Intel
// manual volume 2A), held to what the environment allows.
#include <cstdint>
#include <string>

namespace isobar {

struct CpuInstructions {
  bool avx512_bf16 = false;  ///< dot products of bf16 pairs, summed in fp32
  bool avx512_fp16 = false;  ///< arithmetic on 32 fp16 values at once
  bool amx_bf16 = false;     ///< products of whole tiles of bf16, summed in fp32
  bool amx_fp16 = false;     ///< AMX products of fp16

  /// What libtorch multiplies matrices of these types with, other than in a plain loop.
  bool multiplies_bf16() const { return amx_bf16 || avx512_bf16; }
  bool multiplies_fp16() const { return avx512_fp16; }
};

/// The answers of cpuid that decide CpuInstructions. Registers of leaf 7, and which registers the
/// operating system keeps when it switches threads (XCR0; 0 when it is not known): an instruction whose
/// registers are not kept cannot be used.
struct CpuidAnswers {
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t kept_registers = 0;
};

CpuInstructions decode_cpuid(const CpuidAnswers& answers);

/// Registers of 128, 256 and 512 bits. avx2: with FMA and F16C, as all processors that have AVX2; avx512: F,
/// BW, DQ and VL.
enum class InstructionSet { sse2, avx2, avx512 };

/// The variables that hold a process to less than its processor has; "" = not set. ISOBAR_CPU_CAPABILITY is
/// of our own kernels and takes the words of libtorch's ATEN_CPU_CAPABILITY: default, avx2, avx512. oneDNN,
/// which multiplies 16-bit matrices for libtorch, has ONEDNN_MAX_CPU_ISA.
struct CapabilityWords {
  std::string own = {};
  std::string aten = {};
  std::string onednn = {};
};

/// The widest set that `own` allows; avx512 when it is "". Error (exit code 2) on any other word.
InstructionSet capability_limit(const CapabilityWords& words);

/// What is left of `found` under the limits: a product in 16 bits needs all three to allow its instructions.
/// Words that libtorch and oneDNN do not know are left out, as they leave them out.
CpuInstructions held_to(const CapabilityWords& words, CpuInstructions found);

CapabilityWords capability_words();

/// Instructions of this processor, under the limits of its environment as they were at the first call.
const CpuInstructions& cpu_instructions();

}  // namespace isobar
