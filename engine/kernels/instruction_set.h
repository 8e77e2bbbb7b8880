#pragma once
// Kernels on the CPU are compiled for several instruction sets and one is chosen at run time: a program that
// was built on one machine runs on another.
#include <string_view>
#include <vector>

namespace isobar {

/// sse2: every x86-64; avx2: with FMA and F16C, as all processors that have AVX2; avx512: F, BW, DQ and VL.
enum class InstructionSet { sse2, avx2, avx512 };

/// Those that this processor has, the widest last.
const std::vector<InstructionSet>& instruction_sets_here();
/// The widest: what kernels use unless a test or a bench asks for another. One that is not here is an illegal
/// instruction.
inline InstructionSet best_instruction_set() { return instruction_sets_here().back(); }
std::string_view name_of(InstructionSet set);

}  // namespace isobar
