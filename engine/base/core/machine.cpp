#include "core/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/proc.h"

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

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::optional<ProcessFacts> process_facts(std::int64_t pid) {
  const auto stat = stat_of(proc_folder(static_cast<pid_t>(pid)));
  if (stat.empty()) return std::nullopt;
  return ProcessFacts{stat[kName], stat[kState].front(), std::atoll(stat[kBeginTicks].c_str())};
}

}  // namespace isobar
