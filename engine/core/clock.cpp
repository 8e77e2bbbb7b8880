#include "core/clock.h"

#include <array>
#include <chrono>
#include <ctime>

namespace isobar {
namespace {

std::string formatted(const std::tm& parts, const char* format) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::int64_t steady_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::int64_t thread_cpu_us() {
  timespec time{};
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 ? time.tv_sec * 1'000'000 + time.tv_nsec / 1000
                                                            : 0;
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

}  // namespace isobar
