#include "core/cpu_instructions.h"

#include <cpuid.h>

namespace isobar {
namespace {

constexpr bool bit(std::uint64_t value, int at) { return (value >> at & 1) != 0; }

CpuidAnswers ask() {
  CpuidAnswers out;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || !bit(ecx, 27)) return out;  // 27: xgetbv may be asked
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  out.kept_registers = std::uint64_t{high} << 32 | low;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return out;
  out.leaf7_ebx = ebx;
  out.leaf7_edx = edx;
  const unsigned last_part = eax;
  if (last_part >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) out.leaf7_1_eax = eax;
  return out;
}

}  // namespace

CpuInstructions decode_cpuid(const CpuidAnswers& answers) {
  constexpr std::uint64_t kAvx512Registers = 0xe6;  // XMM, YMM, masks, ZMM
  constexpr std::uint64_t kTileRegisters = 3U << 17;
  const auto kept = [&](std::uint64_t wanted) { return (answers.kept_registers & wanted) == wanted; };
  // F, DQ, BW and VL are what the 16-bit parts build on.
  const bool avx512 = kept(kAvx512Registers) && bit(answers.leaf7_ebx, 16) && bit(answers.leaf7_ebx, 17) &&
                      bit(answers.leaf7_ebx, 30) && bit(answers.leaf7_ebx, 31);
  const bool tiles = kept(kTileRegisters) && bit(answers.leaf7_edx, 24);
  return {.avx512_bf16 = avx512 && bit(answers.leaf7_1_eax, 5),
          .avx512_fp16 = avx512 && bit(answers.leaf7_edx, 23),
          .amx_bf16 = tiles && bit(answers.leaf7_edx, 22),
          .amx_fp16 = tiles && bit(answers.leaf7_1_eax, 21)};
}

const CpuInstructions& cpu_instructions() {
  static const CpuInstructions found = decode_cpuid(ask());
  return found;
}

}  // namespace isobar
