#include "comm/port_owner.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "core/machine.h"
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
  std::int64_t first = 0;
  std::optional<ProcessFacts> facts;
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), last; !code && entry != last; entry.increment(code)) {
    const std::int64_t pid = std::atoll(entry->path().filename().c_str());
    if (pid <= 0 || !holds(entry->path(), inodes)) continue;
    const std::optional<ProcessFacts> holder = process_facts(pid);
    if (!holder || (facts && facts->begin_ticks <= holder->begin_ticks)) continue;
    first = pid;
    facts = holder;
  }
  struct stat status {};
  if (!facts || stat(("/proc/" + std::to_string(first)).c_str(), &status) != 0)
    return "another user's process";
  return fmt::format("process {} ({}), {}, for {}", first, printable(facts->name, 40),
                     status.st_uid == getuid() ? "yours" : "another user's",
                     human_seconds(seconds_since(facts->begin_ticks)));
}

}  // namespace isobar
