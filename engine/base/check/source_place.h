#pragma once
// From addresses of a process of a check, and from what sanitizers print, to lines of a learner's file.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

struct SourcePlace {
  std::string function;  ///< demangled; "" where it is not known
  std::string file;      ///< "" where it is not known
  int line = 0;
};

/// Where a thread of a check stood. The part is loaded there and not here; all else was loaded before the
/// fork.
struct Calls {
  std::uintptr_t part = 0;  ///< where the part begins; 0 = none is loaded
  std::vector<void*> addresses;
};

/// The places of each address, innermost inlined function first. Addresses behind a call are those of a
/// return: one byte is taken off. `part` is the library of the part. Needs addr2line; without it only
/// functions are known.
std::vector<std::vector<SourcePlace>> source_places(const Calls& calls, const std::string& part);

/// "my/02_read_ahead.cpp:37" of the innermost place in a file that ends in `source`; "" where there is none.
std::string place_in(const std::vector<std::vector<SourcePlace>>& calls, const std::string& source);

/// What a sanitizer found: one sentence without its end, and the places in `source` that it names, the first
/// of each of its stacks. Nothing where `said` holds no report.
struct SanitizerReport {
  std::string found;  ///< "heap-buffer-overflow", "data race", "leaked 64 bytes", ...
  std::vector<std::string> places;
};
std::optional<SanitizerReport> sanitizer_report(const std::string& said, const std::string& source);

}  // namespace isobar
