#pragma once
// What else the machine was doing while a benchmark ran: a figure means little without it.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isobar {

/// One look at the machine. What cannot be read is left at its first value.
struct MachineState {
  double load = -1;             ///< mean number of running processes over the last minute
  double clock_mhz = 0;         ///< mean over the cores, as the system says it now
  std::int64_t throttled = -1;  ///< times that heat slowed a core down, since the system started
  std::int64_t free_bytes = 0;
  std::int64_t busy_ticks = 0;    ///< of all cores, in all processes, since the system started
  std::int64_t stolen_ticks = 0;  ///< wanted by this machine, but given to others by its host
  std::int64_t all_ticks = 0;
  std::int64_t own_ticks = 0;  ///< of this process and of those it started that have ended
};

MachineState look_at_machine();

/// Watches from its construction to `finish`.
class MachineWatch {
 public:
  MachineWatch() : before_(look_at_machine()) {}

  /// What the machine is: {"processor", "cores", "instructions", "memory_bytes", "gpu", "system", "libc",
  /// "compiler", "libtorch"}; and what it did: {"load", "before": {...}, "after": {...}, "busy_by_others",
  /// "stolen"}, the last two as shares of all cores' time in between; "environment": variables that change
  /// how fast it is, null for one that is not set. Call it when the processes that were started have ended.
  nlohmann::ordered_json finish() const;

 private:
  MachineState before_;
};

/// Sentences about what makes the figures doubtful in what `finish` gave; empty on a quiet machine.
std::vector<std::string> doubts(const nlohmann::ordered_json& machine);

}  // namespace isobar
