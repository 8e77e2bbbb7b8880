#include "core/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>

namespace isobar {
namespace {

std::string formatted(const std::tm& parts, const char* format) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::int64_t thread_cpu_us() {
  timespec time{};
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 ? time.tv_sec * 1'000'000 + time.tv_nsec / 1000
                                                            : 0;
}

double ProcessorTime::waited_since(const ProcessorTime& before) const {
  const std::int64_t time_us = at_us - before.at_us;
  const std::int64_t waited = waited_us - before.waited_us;
  if (before.waited_us < 0 || waited < 0 || time_us <= 0) return -1;
  return std::min(1.0, static_cast<double>(waited) / static_cast<double>(time_us));
}

ProcessorTime thread_processor_time() {
  std::ifstream file("/proc/thread-self/schedstat");  // Documentation/scheduler/sched-stats.rst of Linux
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;
  if (!(file >> ran_ns >> waited_ns)) return {};
  return {steady_us(), waited_ns / 1000};
}

std::int64_t wall_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string wall_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return formatted(parts, "%Y%m%d-%H%M%S");
}

std::string wall_iso() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return formatted(parts, "%Y-%m-%dT%H:%M:%SZ");
}

std::string minute_text(const std::string& iso) {
  const bool fits = iso.size() == 20 && iso[10] == 'T' && iso.back() == 'Z';
  return fits ? iso.substr(0, 10) + " " + iso.substr(11, 5) + " UTC" : iso;
}

}  // namespace isobar
