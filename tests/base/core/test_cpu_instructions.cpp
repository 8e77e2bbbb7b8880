#include <fstream>
#include <string>

#include "core/cpu_instructions.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

constexpr std::uint32_t kF = 1U << 16, kDq = 1U << 17, kBw = 1U << 30, kVl = 1U << 31;
constexpr std::uint32_t kAmxBf16 = 1U << 22, kFp16 = 1U << 23, kTile = 1U << 24;
constexpr std::uint32_t kBf16 = 1U << 5, kAmxFp16 = 1U << 21;
constexpr std::uint64_t kKeepsAvx512 = 0xe7, kKeepsTiles = 0x60000;

/// A processor that has all of it, under a system that keeps all registers.
CpuidAnswers all_of_it() {
  return {kF | kDq | kBw | kVl, kAmxBf16 | kFp16 | kTile, kBf16 | kAmxFp16, kKeepsAvx512 | kKeepsTiles};
}

int count(const CpuInstructions& found) {
  return found.avx512_bf16 + found.avx512_fp16 + found.amx_bf16 + found.amx_fp16;
}

}  // namespace

TEST_CASE("instructions for 16 bits are told one by one") {
  CHECK(count(decode_cpuid(all_of_it())) == 4);
  CHECK(count(decode_cpuid({})) == 0);
  CpuidAnswers answers = all_of_it();
  answers.leaf7_edx &= ~kFp16;
  CHECK(count(decode_cpuid(answers)) == 3);
  CHECK_FALSE(decode_cpuid(answers).avx512_fp16);
  answers = all_of_it();
  answers.leaf7_1_eax &= ~kBf16;
  CHECK_FALSE(decode_cpuid(answers).avx512_bf16);
  CHECK(count(decode_cpuid(answers)) == 3);
  answers = all_of_it();
  answers.leaf7_edx &= ~kAmxBf16;
  CHECK_FALSE(decode_cpuid(answers).amx_bf16);
  answers = all_of_it();
  answers.leaf7_1_eax &= ~kAmxFp16;
  CHECK_FALSE(decode_cpuid(answers).amx_fp16);
}

TEST_CASE(
    "instructions whose registers the system does not keep, or that lack what they build on, are none") {
  CpuidAnswers answers = all_of_it();
  answers.kept_registers = kKeepsAvx512;
  CpuInstructions found = decode_cpuid(answers);
  CHECK((found.avx512_bf16 && found.avx512_fp16 && !found.amx_bf16 && !found.amx_fp16));
  answers.kept_registers = 0x7 | kKeepsTiles;  // a system that keeps YMM, not ZMM
  found = decode_cpuid(answers);
  CHECK((!found.avx512_bf16 && !found.avx512_fp16 && found.amx_bf16 && found.amx_fp16));
  answers.kept_registers = 0;
  CHECK(count(decode_cpuid(answers)) == 0);
  for (const std::uint32_t missing : {kF, kDq, kBw, kVl}) {
    answers = all_of_it();
    answers.leaf7_ebx &= ~missing;
    CHECK_FALSE(decode_cpuid(answers).avx512_fp16);
  }
}

TEST_CASE("what is found here is what the system says of this processor") {
  std::ifstream info("/proc/cpuinfo");
  std::string flags;
  while (flags.rfind("flags", 0) != 0 && std::getline(info, flags)) {
  }
  REQUIRE(flags.rfind("flags", 0) == 0);
  const auto says = [&](const std::string& flag) {
    return (flags + " ").find(" " + flag + " ") != std::string::npos;
  };
  const CpuInstructions told = held_to(
      capability_words(), {says("avx512_bf16"), says("avx512_fp16"), says("amx_bf16"), says("amx_fp16")});
  CHECK(cpu_instructions().avx512_bf16 == told.avx512_bf16);
  CHECK(cpu_instructions().avx512_fp16 == told.avx512_fp16);
  CHECK(cpu_instructions().amx_bf16 == told.amx_bf16);
}

TEST_CASE("a limit of libtorch, of oneDNN or of our own takes the instructions for 16 bits away") {
  constexpr CpuInstructions kAll{true, true, true, true};
  const auto left = [&](const CapabilityWords& words) { return count(held_to(words, kAll)); };
  CHECK(left({}) == 4);
  CHECK(left({.own = "avx512", .aten = "avx512", .onednn = "ALL"}) == 4);
  for (const char* const word : {"avx2", "default"}) {
    CHECK(left({.own = word}) == 0);
    CHECK(left({.aten = word}) == 0);
  }
  CHECK(left({.onednn = "AVX2"}) == 0);
  CHECK(left({.onednn = "avx512_core_vnni"}) == 0);
  CHECK(left({.onednn = "AVX512_CORE_BF16"}) == 1);
  CHECK(held_to({.onednn = "AVX512_CORE_BF16"}, kAll).avx512_bf16);
  CHECK(left({.onednn = "AVX512_CORE_FP16"}) == 2);
  CHECK(left({.onednn = "AVX512_CORE_AMX"}) == 3);
  CHECK(left({.aten = "no word", .onednn = "no word"}) == 4);  // libtorch and oneDNN go on without them
}

TEST_CASE("our own limit takes three words, and a wrong one is refused") {
  CHECK(capability_limit({}) == InstructionSet::avx512);
  CHECK(capability_limit({.own = "avx512"}) == InstructionSet::avx512);
  CHECK(capability_limit({.own = "avx2"}) == InstructionSet::avx2);
  CHECK(capability_limit({.own = "default"}) == InstructionSet::sse2);
  for (const char* const word : {"AVX2", "avx", "avx2 ", "sse2", "0"}) {
    CHECK_THAT(error_of([&] { capability_limit({.own = word}); }), says("no set of instructions") &&
                                                                       says("ISOBAR_CPU_CAPABILITY") &&
                                                                       says("default, avx2 or avx512"));
  }
}
