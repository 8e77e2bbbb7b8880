#include "check/check_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/proc.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kStill_s = 0.5;
constexpr double kBetweenLooks_s = 0.05;  // each reads two files for every thread

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The sum of the numbers behind these names; 0 where the file is not there.
std::int64_t sum_in(const fs::path& path, const std::vector<std::string>& names) {
  std::int64_t out = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    for (const std::string& name : names)
      if (line.starts_with(name)) out += std::strtoll(line.c_str() + name.size(), nullptr, 10);
  }
  return out;
}

}  // namespace

Limit CheckLimits::reached() {
  static const std::vector<std::string> memory = {"RssAnon:", "RssShmem:", "VmSwap:"};
  static const std::vector<std::string> written = {"wchar:"};
  const fs::path place = proc_folder(pid_);
  if (1024 * sum_in(place / "status", memory) > setting_.most_memory_bytes) return Limit::memory;
  if (sum_in(place / "io", written) > setting_.most_written_bytes) return Limit::output;
  return hangs(Clock::now()) ? Limit::time : Limit::none;
}

bool CheckLimits::hangs(Clock::time_point now) {
  const double since_look_s = seconds_between(looked_, now);
  if (since_look_s < kBetweenLooks_s) return false;
  const Motion motion = motion_of(pid_);
  // Whoever sleeps wants no processor, so that this is no longer on a busy machine, but looks there are rare.
  if (motion.asleep) asleep_s_ += std::min(since_look_s, 2 * kBetweenLooks_s);
  const bool is_early = seconds_between(begin_, now) < setting_.hang_s;
  if (is_early || !motion.asleep || motion.switches != seen_.switches) still_since_ = now;
  looked_ = now;
  seen_ = motion;
  if (is_early) return false;
  return seconds_between(still_since_, now) > kStill_s || motion.processor_s > setting_.hang_s ||
         asleep_s_ > setting_.sleep_s;
}

}  // namespace isobar
