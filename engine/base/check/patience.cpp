#include "check/patience.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace isobar {
namespace {

constexpr int kQuietLooks = 30;
constexpr std::chrono::milliseconds kBetween{4};

bool others_sleep() {
  const std::string own = std::to_string(syscall(SYS_gettid));
  std::error_code code;
  for (std::filesystem::directory_iterator entry("/proc/self/task", code), end; !code && entry != end;
       entry.increment(code)) {
    if (entry->path().filename() == own) continue;
    std::ifstream file(entry->path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    if (name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] != 'S')
      return false;
  }
  return true;
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
