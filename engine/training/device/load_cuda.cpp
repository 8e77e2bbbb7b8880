#include "device/load_cuda.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr int kOldestMajor = 8;  // Ampere: what the plugin is compiled for, and where TF32 begins
constexpr const char* kDriverOfCuda13 = "580";  // the first driver branch that serves CUDA 13
constexpr const char* kOrCpu = "--set run.device=cpu runs the same program on the processor";
constexpr const char* kBuild = "./isobar --cuda setup builds it";

const CudaPlugin* chosen = nullptr;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string where_of(int index) { return fmt::format("run.device = \"cuda:{}\"", index); }

std::string loader_reason() {
  const char* const reason = dlerror();
  return printable(reason == nullptr ? "no reason given" : reason, 300);
}

/// What is wrong with driver and device, if anything.
std::optional<Error> problem_of(const CudaFacts& facts, int index, const std::string& driver) {
  const std::string named = driver.empty() ? "" : " " + driver;
  if (facts.driver_version == 0 && !driver.empty()) {
    return Error(
        fmt::format("the NVIDIA driver{} is loaded, but its library libcuda.so.1 is not found", named),
        where_of(index), fmt::format("a container gets it when it is given the GPU; {}", kOrCpu));
  }
  if (facts.driver_version == 0) {
    return Error("there is no CUDA device on this machine: no NVIDIA driver was found", where_of(index),
                 kOrCpu);
  }
  if (facts.driver_version / 1000 < facts.runtime_version / 1000) {
    return Error(fmt::format("the NVIDIA driver{} of this machine serves CUDA {}, and CUDA {} is needed",
                             named, version_text(facts.driver_version), version_text(facts.runtime_version)),
                 where_of(index), fmt::format("driver {} or newer; {}", kDriverOfCuda13, kOrCpu));
  }
  if (!facts.problem.empty()) {
    return Error("the CUDA devices of this machine cannot be used: " + facts.problem, where_of(index),
                 kOrCpu);
  }
  if (facts.devices.empty()) {
    return Error(
        fmt::format("there is no CUDA device on this machine: the NVIDIA driver{} shows none", named),
        where_of(index),
        fmt::format("CUDA_VISIBLE_DEVICES, containers, and MIG without a slice hide devices; {}", kOrCpu));
  }
  const auto count = static_cast<int>(facts.devices.size());
  if (index >= count) {
    return Error(count == 1
                     ? "this machine has one CUDA device, cuda:0"
                     : fmt::format("this machine has {0} CUDA devices, cuda:0 to cuda:{1}", count, count - 1),
                 where_of(index), "--set run.device=cuda takes the first one");
  }
  const CudaDeviceFacts& device = facts.devices[static_cast<std::size_t>(index)];
  if (device.major < kOldestMajor) {
    return Error(fmt::format("{} has compute capability {}.{}, and {}.0 or newer is needed",
                             printable(device.name), device.major, device.minor, kOldestMajor),
                 where_of(index), kOrCpu);
  }
  return std::nullopt;
}

}  // namespace

const CudaPlugin& load_cuda_plugin(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code)) {
    throw Error("this build has no CUDA plugin", file.string(), kBuild);
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw Error("the CUDA plugin cannot be loaded: " + loader_reason(), file.string(),
                fmt::format("{} anew; {}", kBuild, kOrCpu));
  }
  const auto entry = reinterpret_cast<CudaPluginEntry>(dlsym(library, kCudaPluginEntry));
  if (entry == nullptr) {
    throw Error("this library is no CUDA plugin of Isobar: " + loader_reason(), file.string(), kBuild);
  }
  int version = 0;
  const CudaPlugin* const plugin = entry(kCudaPluginVersion, &version);
  if (plugin == nullptr || version != kCudaPluginVersion) {
    throw Error(
        fmt::format("the CUDA plugin was built for another version of this program: it has interface {}, "
                    "{} is needed",
                    version, kCudaPluginVersion),
        file.string(), fmt::format("{} anew", kBuild));
  }
  return *plugin;
}

void check_cuda_device(const CudaFacts& facts, int index, const std::string& driver) {
  if (const std::optional<Error> problem = problem_of(facts, index, driver)) throw *problem;
}

const CudaPlugin& require_cuda(int index) {
  if (!has_nvidia_driver()) check_cuda_device({}, index, "");
  const CudaPlugin& plugin = load_cuda_plugin(cuda_plugin_file());
  check_cuda_device(plugin.facts(), index, nvidia_driver_version());
  chosen = &plugin;
  return plugin;
}

bool cuda_is_usable() {
  if (likely_device_kind() != "cuda") return false;
  return !problem_of(load_cuda_plugin(cuda_plugin_file()).facts(), 0, "");
}

const CudaPlugin& cuda_plugin() {
  if (chosen == nullptr) throw Error("no CUDA device was chosen yet", "cuda_plugin", "", Exit::failed);
  return *chosen;
}

void choose_cuda_plugin(const CudaPlugin& plugin) { chosen = &plugin; }

}  // namespace isobar
