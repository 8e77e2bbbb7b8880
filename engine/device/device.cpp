#include "device/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace isobar {
namespace {

c10::Device cuda_device(const std::string& name) {
  if (name.size() > 4) {
    int index = -1;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + 5, end, index);
    if (name[4] != ':' || parsed.ec != std::errc() || parsed.ptr != end || index < 0 || index > 127) {
      throw Error(fmt::format("\"{}\" is not a device", name), "run.device",
                  "auto, cpu, cuda, or cuda:0, cuda:1, ...");
    }
  }
  const bool driver = std::filesystem::exists("/dev/nvidiactl");
  throw Error(driver ? "this build cannot use the NVIDIA device of this machine: it holds no CUDA plugin"
                     : "there is no CUDA device on this machine: no NVIDIA driver was found",
              "run.device = \"" + name + "\"", "--set run.device=cpu runs the same program on the processor");
}

}  // namespace

std::string automatic_device_kind() { return "cpu"; }

c10::Device choose_device(const std::string& name) {
  if (name == "auto" || name == "cpu") return c10::Device(c10::kCPU);
  if (name.rfind("cuda", 0) == 0) return cuda_device(name);
  throw Error(fmt::format("\"{}\" is not a device", name), "run.device",
              "auto, cpu, cuda, or cuda:0, cuda:1, ...");
}

std::string choose_precision(const std::string& mode, c10::Device device) {
  if (mode == "auto") return device.is_cuda() ? "tf32" : "none";
  if (mode == "tf32" && !device.is_cuda()) {
    throw Error("TF32 exists on CUDA devices only, and this run is on the CPU", "amp.mode = \"tf32\"",
                "--set amp.mode=none (plain fp32), or leave it out");
  }
  return mode;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int set_up_cpu(int threads) {
  const int count = threads > 0 ? threads : usable_cores();
  at::set_num_threads(count);
  at::globalContext().setDeterministicAlgorithms(true, false);
  return at::get_num_threads();
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * 1024 : 0;
}

std::string cpu_capability() { return at::get_cpu_capability(); }

}  // namespace isobar
