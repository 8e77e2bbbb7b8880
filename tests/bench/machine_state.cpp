#include "bench/machine_state.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/memory.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kQuietShare = 0.05;  // of all cores; a desktop that waits takes about 1 %

/// What stands behind the colon of the first line that begins with `name`; "" where none does.
std::string behind_colon(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind(name, 0) != 0 || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string processor() {
  const std::string name = behind_colon("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

/// Of the processor's instruction sets those that decide how fast tensors are.
std::string instructions() {
  std::istringstream words(behind_colon("/proc/cpuinfo", "flags") + " " +
                           behind_colon("/proc/cpuinfo", "Features"));  // the second one: ARM
  std::string out;
  for (std::string word; words >> word;) {
    for (const char* const known : {"avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16",
                                    "amx_bf16", "amx_fp16", "asimd", "sve", "sve2"}) {
      if (word == known) out += (out.empty() ? "" : " ") + word;
    }
  }
  return out;
}

std::string gpu() {
  std::string out;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", code)) {
    const std::string model = behind_colon(entry.path() / "information", "Model");
    if (!model.empty()) out += (out.empty() ? "" : ", ") + model;
  }
  if (!has_nvidia_driver()) return "none";
  return (out.empty() ? "of unknown model" : out) + ", driver " + nvidia_driver_version();
}

std::string operating_system() {
  utsname names{};
  if (uname(&names) != 0) return "";
  const std::string release = names.release;  // "6.1.0-18-amd64": behind the number is who built it
  return fmt::format("{} {} {}", names.sysname, release.substr(0, release.find('-')), names.machine);
}

Json fingerprint() {
  return {{"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"instructions", instructions()},
          {"memory_bytes", memory_state().total_bytes},
          {"gpu", gpu()},
          {"system", operating_system()},
          {"libc", gnu_get_libc_version()},
          {"compiler", __VERSION__},
          {"libtorch", ISOBAR_LIBTORCH_VERSION}};
}

double clock_mhz() {
  std::ifstream file("/proc/cpuinfo");
  double sum = 0;
  int cores = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu MHz", 0) != 0) continue;
    sum += std::strtod(line.c_str() + line.find(':') + 1, nullptr);
    ++cores;
  }
  return cores > 0 ? sum / cores : 0;
}

std::int64_t throttle_count() {
  std::int64_t sum = -1;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/sys/devices/system/cpu", code)) {
    std::ifstream file(entry.path() / "thermal_throttle/core_throttle_count");
    std::int64_t count = 0;
    if (file >> count) sum = std::max<std::int64_t>(sum, 0) + count;
  }
  return sum;
}

std::int64_t own_ticks() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (getrusage(who, &usage) != 0) continue;
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return static_cast<std::int64_t>(seconds * static_cast<double>(sysconf(_SC_CLK_TCK)));
}

Json look_json(const MachineState& state) {
  Json out = {{"load", state.load}, {"free_bytes", state.free_bytes}};
  if (state.clock_mhz > 0) out["clock_mhz"] = state.clock_mhz;
  if (state.throttled >= 0) out["throttled"] = state.throttled;
  return out;
}

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? std::clamp(static_cast<double>(part) / static_cast<double>(all), 0.0, 1.0) : 0.0;
}

}  // namespace

MachineState look_at_machine() {
  MachineState out;
  double load[3] = {};
  if (getloadavg(load, 3) >= 1) out.load = load[0];
  out.clock_mhz = clock_mhz();
  out.throttled = throttle_count();
  out.free_bytes = static_cast<std::int64_t>(memory_state().available_bytes);
  out.own_ticks = own_ticks();
  // cpu user nice system idle iowait irq softirq steal ...: proc(5)
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  std::int64_t ticks = 0;
  for (int field = 0; field < 8 && file >> ticks; ++field) {
    out.all_ticks += ticks;
    if (field == 7) out.stolen_ticks = ticks;
    if (field != 3 && field != 4 && field != 7) out.busy_ticks += ticks;
  }
  return out;
}

Json MachineWatch::finish() const {
  const MachineState after = look_at_machine();
  const std::int64_t all = after.all_ticks - before_.all_ticks;
  const std::int64_t own = after.own_ticks - before_.own_ticks;
  Json out = fingerprint();
  out.update({{"load", before_.load},
              {"before", look_json(before_)},
              {"after", look_json(after)},
              {"busy_by_others", share(after.busy_ticks - before_.busy_ticks - own, all)},
              {"stolen", share(after.stolen_ticks - before_.stolen_ticks, all)}});
  for (const char* name :
       {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_PROC_BIND", "OMP_NUM_THREADS", "GLIBC_TUNABLES",
        "ISOBAR_CPU_CAPABILITY", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* const value = std::getenv(name);  // they change how fast both are
    out["environment"][name] = value == nullptr ? Json(nullptr) : Json(printable(value));
  }
  return out;
}

std::vector<std::string> doubts(const Json& machine) {
  std::vector<std::string> out;
  const double others = machine["busy_by_others"];
  const double stolen = machine["stolen"];
  if (others > kQuietShare) {
    out.push_back(fmt::format("other processes used {:.0f} % of the processor meanwhile", 100 * others));
  }
  if (stolen > kQuietShare) {
    out.push_back(fmt::format("the host gave {:.0f} % of this machine's time to others", 100 * stolen));
  }
  if (machine["after"].value("throttled", std::int64_t{0}) >
      machine["before"].value("throttled", std::int64_t{0})) {
    out.emplace_back("heat slowed the processor down meanwhile");
  }
  return out;
}

}  // namespace isobar
