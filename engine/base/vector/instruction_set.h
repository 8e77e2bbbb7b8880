#pragma once
// Kernels on the CPU are compiled for several instruction sets and one is chosen at run time: a program that
// was built on one machine runs on another.
#include <string_view>
#include <vector>

#include "core/cpu_instructions.h"

namespace isobar {

/// Instruction sets that this processor has and ISOBAR_CPU_CAPABILITY allows, the widest last.
const std::vector<InstructionSet>& instruction_sets_here();
/// The widest: what kernels use unless a test or a bench asks for another. One that is not here is an illegal
/// instruction.
inline InstructionSet best_instruction_set() { return instruction_sets_here().back(); }
std::string_view name_of(InstructionSet set);

}  // namespace isobar
