#pragma once
// What a processor has for arithmetic in 16 bits, asked of the processor itself (the instruction cpuid, Intel
// manual volume 2A).
#include <cstdint>

namespace isobar {

struct CpuInstructions {
  bool avx512_bf16 = false;  ///< dot products of bf16 pairs, summed in fp32
  bool avx512_fp16 = false;  ///< arithmetic on 32 fp16 values at once
  bool amx_bf16 = false;     ///< products of whole tiles of bf16, summed in fp32
  bool amx_fp16 = false;     ///< the same of fp16
};

/// What cpuid answers to the questions that matter here. Registers of leaf 7, and which registers the
/// operating system keeps when it switches threads (XCR0; 0 when it does not say): an instruction whose
/// registers are not kept cannot be used.
struct CpuidAnswers {
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t kept_registers = 0;
};

CpuInstructions decode_cpuid(const CpuidAnswers& answers);

/// Of the processor that this runs on.
const CpuInstructions& cpu_instructions();

}  // namespace isobar
