#pragma once
// Two clocks: durations come from the steady one only, wall time is for names and labels.
#include <cstdint>
#include <string>

namespace isobar {

/// Microseconds on the steady clock; only differences mean anything.
std::int64_t steady_us();

/// Microseconds of processor time that this thread used so far.
std::int64_t thread_cpu_us();

/// Local wall time as "20261120-231246", for folder names.
std::string wall_stamp();

/// UTC wall time as "2026-11-20T23:12:46Z".
std::string wall_iso();

/// Nanoseconds since 1970 on the wall clock, for records that other programs date (TFEvents, environment).
std::int64_t wall_ns();

}  // namespace isobar
