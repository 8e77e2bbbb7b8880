#include "comm/port_owner.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

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

}  // namespace

std::string port_owner(int port) {
  const std::set<std::string> inodes = listening_sockets(port);
  if (inodes.empty()) return "";
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), last; !code && entry != last; entry.increment(code)) {
    const std::string pid = entry->path().filename().string();
    const bool is_process =
        std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!is_process || !holds(entry->path(), inodes)) continue;
    std::string name;
    std::ifstream comm(entry->path() / "comm");
    std::getline(comm, name);
    struct stat facts {};
    if (stat(entry->path().c_str(), &facts) != 0) break;
    const double age_s = std::difftime(std::time(nullptr), facts.st_ctime);
    return fmt::format("process {} ({}), {}, for {}", pid, printable(name, 40),
                       facts.st_uid == getuid() ? "yours" : "another user's", human_seconds(age_s));
  }
  return "another user's process";
}

}  // namespace isobar
