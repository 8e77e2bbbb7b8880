#include "comm/port_owner.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/text.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

/// Inodes of the sockets that listen on `port`.
std::set<std::string> listening_sockets(int port) {
  std::set<std::string> out;
  const std::string end = fmt::format(":{:04X}", port);
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> skipped;
      fields >> inode;
      if (state == "0A" && local.ends_with(end)) out.insert(inode);
    }
  }
  return out;
}

bool holds(const fs::path& process, const std::set<std::string>& inodes) {
  std::error_code code;
  for (fs::directory_iterator entry(process / "fd", code), last; !code && entry != last;
       entry.increment(code)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).string();
    if (gone || !target.starts_with("socket:[")) continue;
    if (inodes.contains(target.substr(8, target.size() - 9))) return true;
  }
  return false;
}

/// When a process began, in clock ticks since the machine did (proc(5), stat, field 22); -1 = it is gone.
std::int64_t begin_ticks(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // a name may hold blanks
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  std::int64_t out = -1;
  fields >> out;
  return out;
}

double seconds_since(std::int64_t ticks) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double begin_s = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return std::max(0.0, static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - begin_s);
}

}  // namespace

std::string port_owner(int port) {
  const std::set<std::string> inodes = listening_sockets(port);
  if (inodes.empty()) return "";
  // Children inherit what is open: the one that began first opened it.
  std::pair<std::int64_t, fs::path> first{-1, {}};
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), last; !code && entry != last; entry.increment(code)) {
    const std::string pid = entry->path().filename().string();
    const bool is_process =
        std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!is_process || !holds(entry->path(), inodes)) continue;
    const std::int64_t begin = begin_ticks(entry->path());
    if (begin >= 0 && (first.first < 0 || begin < first.first)) first = {begin, entry->path()};
  }
  struct stat facts {};
  if (first.first < 0 || stat(first.second.c_str(), &facts) != 0) return "another user's process";
  std::string name;
  std::ifstream comm(first.second / "comm");
  std::getline(comm, name);
  return fmt::format("process {} ({}), {}, for {}", first.second.filename().string(), printable(name, 40),
                     facts.st_uid == getuid() ? "yours" : "another user's",
                     human_seconds(seconds_since(first.first)));
}

}  // namespace isobar
