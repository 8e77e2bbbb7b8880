#include "core/cpu_instructions.h"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace isobar {
namespace {

/// oneDNN's words for its limit, from least to most; "ALL" and "DEFAULT" mean no limit.
constexpr std::array<std::string_view, 13> kOneDnnWords = {"SSE41",
                                                           "AVX",
                                                           "AVX2",
                                                           "AVX2_VNNI",
                                                           "AVX2_VNNI_2",
                                                           "AVX512_CORE",
                                                           "AVX512_CORE_VNNI",
                                                           "AVX512_CORE_BF16",
                                                           "AVX10_1_256",
                                                           "AVX512_CORE_FP16",
                                                           "AVX10_1_512",
                                                           "AVX512_CORE_AMX",
                                                           "AVX512_CORE_AMX_FP16"};

/// Whether oneDNN may use what `least` brings.
bool onednn_allows(std::string word, std::string_view least) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  const auto* const at = std::find(kOneDnnWords.begin(), kOneDnnWords.end(), word);
  return at == kOneDnnWords.end() || at >= std::find(kOneDnnWords.begin(), kOneDnnWords.end(), least);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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

InstructionSet capability_limit(const CapabilityWords& words) {
  if (words.own.empty() || words.own == "avx512") return InstructionSet::avx512;
  if (words.own == "avx2") return InstructionSet::avx2;
  if (words.own == "default") return InstructionSet::sse2;
  throw Error("\"" + words.own + "\" is no set of instructions", "the variable ISOBAR_CPU_CAPABILITY",
              "default, avx2 or avx512; without it all that the processor has is used");
}

CpuInstructions held_to(const CapabilityWords& words, CpuInstructions found) {
  if (capability_limit(words) < InstructionSet::avx512 || words.aten == "avx2" || words.aten == "default")
    return {};
  const auto allows = [&](std::string_view least) { return onednn_allows(words.onednn, least); };
  found.avx512_bf16 = found.avx512_bf16 && allows("AVX512_CORE_BF16");
  found.avx512_fp16 = found.avx512_fp16 && allows("AVX512_CORE_FP16");
  found.amx_bf16 = found.amx_bf16 && allows("AVX512_CORE_AMX");
  found.amx_fp16 = found.amx_fp16 && allows("AVX512_CORE_AMX_FP16");
  return found;
}

CapabilityWords capability_words() {
  const std::string onednn = variable("ONEDNN_MAX_CPU_ISA");
  return {.own = variable("ISOBAR_CPU_CAPABILITY"),
          .aten = variable("ATEN_CPU_CAPABILITY"),
          .onednn = onednn.empty() ? variable("DNNL_MAX_CPU_ISA") : onednn};
}

const CpuInstructions& cpu_instructions() {
  static const CpuInstructions found = held_to(capability_words(), decode_cpuid(ask()));
  return found;
}

}  // namespace isobar
