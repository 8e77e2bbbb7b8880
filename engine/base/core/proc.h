#pragma once
// Facts of processes and threads from /proc (proc(5)); there are none of what has ended
// meanwhile.
#include <sys/types.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace isobar {

/// The entries of a folder that are numbers, rising: processes of /proc, threads of /proc/PID/task.
inline std::vector<pid_t> numbered_entries(const std::filesystem::path& folder) {
  std::vector<pid_t> out;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) out.push_back(std::atoi(name.c_str()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::filesystem::path proc_folder(pid_t process) {
  return std::filesystem::path("/proc") / std::to_string(process);
}

/// One thread of it.
inline std::filesystem::path proc_folder(pid_t process, pid_t thread) {
  return proc_folder(process) / "task" / std::to_string(thread);
}

inline std::vector<pid_t> threads_in(pid_t process) {
  return numbered_entries(proc_folder(process) / "task");
}

/// Fields of `stat`, from its name.
enum StatField : std::size_t {
  kName = 0,
  kState = 1,
  kParent = 2,
  kUserTicks = 12,
  kSystemTicks = 13,
  kBeginTicks = 20
};

/// All of them as text; empty where there is none.
inline std::vector<std::string> stat_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find('('), end = line.rfind(')');  // a name may hold anything
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> out = {line.substr(begin + 1, end - begin - 1)};
  std::istringstream words(line.substr(end + 1));
  for (std::string word; words >> word;) out.push_back(word);
  if (out.size() <= kBeginTicks) out.clear();
  return out;
}

}  // namespace isobar
