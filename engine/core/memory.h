#pragma once
// Memory that this process may use: the machine's, or less where a control group limits it.
#include <cstdint>

namespace isobar {

struct MemoryState {
  std::uint64_t total_bytes = 0;      ///< of the machine, or the limit of the control group
  std::uint64_t available_bytes = 0;  ///< what a new allocation could still get without swapping
  std::uint64_t oom_kills = 0;        ///< processes of the control group that were killed for memory so far
};

/// Zeros where the system does not say.
MemoryState memory_state();

}  // namespace isobar
