#include "vector/instruction_set.h"

namespace isobar {

const std::vector<InstructionSet>& instruction_sets_here() {
  static const std::vector<InstructionSet> sets = [] {
    const InstructionSet limit = capability_limit(capability_words());
    std::vector<InstructionSet> out = {InstructionSet::sse2};
    const bool avx2 = limit >= InstructionSet::avx2 && __builtin_cpu_supports("avx2") &&
                      __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (avx2) out.push_back(InstructionSet::avx2);
    const bool avx512 = avx2 && limit >= InstructionSet::avx512 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (avx512) out.push_back(InstructionSet::avx512);
    return out;
  }();
  return sets;
}

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::sse2:
      return "SSE2";
    case InstructionSet::avx2:
      return "AVX2";
    case InstructionSet::avx512:
      return "AVX-512";
  }
  return "";
}

}  // namespace isobar
