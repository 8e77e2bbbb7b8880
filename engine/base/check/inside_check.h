#pragma once
// The process of a check, and what it reports to the one that watches it.
#include <optional>
#include <string>
#include <vector>

#include "check/check.h"
#include "check/source_place.h"

namespace isobar {

/// Runs the check in `folder` and ends this process. Its output goes to `said`, what it reports to
/// `report`. `part`: the library that it loads.
[[noreturn]] void be_the_check(const Check& check, const std::string& part, const std::string& folder,
                               int said, int report);

struct Crash {
  std::string what;  ///< "a segmentation fault", "an exception left a thread: ..."
  Calls calls;
};

// Whether the report is that of a check that ended well.
bool has_ended_well(const std::string& reported);
bool has_forked(const std::string& reported);
/// What it showed, line by line.
std::string parse_shown(const std::string& reported);
std::optional<Finding> parse_finding(const std::string& reported);
std::optional<Crash> parse_crash(const std::string& reported);
/// Where the threads stood when they were asked: thread, calls.
struct ThreadCalls {
  int thread = 0;
  Calls calls;
};
std::vector<ThreadCalls> parse_threads(const std::string& reported);

/// The signal by which a thread is asked where it stands.
int where_signal();

}  // namespace isobar
