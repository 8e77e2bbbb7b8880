#include "check/patience.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/proc.h"

namespace isobar {
namespace {

constexpr int kQuietLooks = 30;
constexpr std::chrono::milliseconds kBetween{4};

bool others_sleep() {
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  const std::vector<pid_t> threads = threads_in(getpid());
  return std::all_of(threads.begin(), threads.end(), [&](pid_t thread) {
    if (thread == own) return true;
    const auto stat = stat_of(proc_folder(getpid(), thread));
    return stat.empty() || stat[kState] == "S";
  });
}

}  // namespace

bool comes(const std::function<bool()>& happens) {
  for (int quiet = 0; quiet < kQuietLooks; quiet = others_sleep() ? quiet + 1 : 0) {
    if (happens()) return true;
    std::this_thread::sleep_for(kBetween);
  }
  return happens();
}

}  // namespace isobar
