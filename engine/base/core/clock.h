#pragma once
// Two clocks: durations come from the steady one only, wall time is for names and labels.
#include <cstdint>
#include <string>

namespace isobar {

/// Microseconds on the steady clock (core/waiting.h: a test may set it); only differences mean anything.
std::int64_t steady_us();

/// Microseconds of processor time that this thread used so far.
std::int64_t thread_cpu_us();

/// Processor time and wait of this thread so far; -1 where the kernel does not report it.
struct ProcessorTime {
  std::int64_t at_us = 0;       ///< steady_us
  std::int64_t waited_us = -1;  ///< it could have run, and another thread did

  /// The share of the time since then in which it waited for a processor; -1 = not known.
  double waited_since(const ProcessorTime& before) const;
};
ProcessorTime thread_processor_time();

/// Local wall time as "20261120-231246", for folder names.
std::string wall_stamp();

/// UTC wall time as "2026-11-20T23:12:46Z".
std::string wall_iso();
/// "2026-11-20 23:12 UTC" of that; anything else as it is.
std::string minute_text(const std::string& iso);

/// Nanoseconds since 1970 on the wall clock, for records that other programs date (TFEvents, environment).
std::int64_t wall_ns();

}  // namespace isobar
