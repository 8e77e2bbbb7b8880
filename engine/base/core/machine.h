#pragma once
// This machine's name and facts of its processes.
#include <cstdint>
#include <optional>
#include <string>

namespace isobar {

/// The host name, as `hostname` prints it; "" where the system has none.
std::string host_name();
/// A word that no other machine has, and this one only until it starts again; "" when it is not known.
std::string boot_id();
/// One start of one machine, and one view of its processes: the number of a process means nothing elsewhere,
/// not even in another container of the same machine.
std::string process_view();
/// "AMD EPYC 9654" or what the system calls its processor.
std::string cpu_name();

/// Fields of /proc/PID/stat of a process (proc(5)).
struct ProcessFacts {
  std::string name;  ///< its first 15 letters
  char state;        ///< R runs, S sleeps, T is stopped, ...
  /// When it began, in clock ticks since the machine did: with that a number that is used again is another
  /// process.
  std::int64_t begin_ticks;

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
/// Nothing when there is no such process.
std::optional<ProcessFacts> process_facts(std::int64_t pid);

}  // namespace isobar
