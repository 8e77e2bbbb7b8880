#include "core/machine.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace isobar {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string boot_id() {
  std::string out;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> out;
  return out;
}

std::string process_view() {
  struct stat view {};
  const bool known = stat("/proc/self/ns/pid", &view) == 0;
  return boot_id() + "/" + (known ? std::to_string(view.st_ino) : "0");
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::optional<ProcessFacts> process_facts(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_begin = line.find('('), name_end = line.rfind(')');  // a name may hold anything
  if (name_begin == std::string::npos || name_end == std::string::npos || name_end < name_begin)
    return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  ProcessFacts out{line.substr(name_begin + 1, name_end - name_begin - 1), '?', 0};
  fields >> out.state;  // field 3
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> out.begin_ticks)) return std::nullopt;
  return out;
}

}  // namespace isobar
