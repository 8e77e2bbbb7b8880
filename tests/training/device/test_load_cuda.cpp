// What is refused, and in which words, on machines with and without a GPU.
#include <cstdlib>

#include "core/files.h"
#include "core/nvidia.h"
#include "device/load_cuda.h"
#include "device/memory.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

CudaFacts two_devices() {
  return {.driver_version = 13000,
          .runtime_version = 13000,
          .problem = "",
          .devices = {{.name = "NVIDIA A100", .major = 8, .minor = 0},
                      {.name = "Tesla V100", .major = 7, .minor = 0}}};
}

std::string refused(const CudaFacts& facts, int index, const std::string& driver = "") {
  return error_of([&] { check_cuda_device(facts, index, driver); });
}

}  // namespace

TEST_CASE(
    "a plugin that is not there, not loadable, none at all, or of another version is refused in words") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { load_cuda_plugin(folder / "libisobar_cuda.so"); }),
             says("no CUDA plugin") && says("libisobar_cuda.so") && says("./isobar --cuda setup"));
  write_file_whole(folder / "text.so", std::string_view("not a library\n"));
  const std::string unloadable = error_of([&] { load_cuda_plugin(folder / "text.so"); });
  CHECK_THAT(unloadable, says("cannot be loaded: ") && says("text.so") && says("./isobar --cuda setup"));
  CHECK(std::count(unloadable.begin(), unloadable.end(), '\n') == 2);  // what, where, hint: a line each
  CHECK_THAT(error_of([&] { load_cuda_plugin(NO_PLUGIN); }),
             says("is no CUDA plugin") && says("isobar_cuda_plugin"));
  CHECK_THAT(
      error_of([&] { load_cuda_plugin(OLD_PLUGIN); }),
      says("another version") && says("interface 99, " + std::to_string(kCudaPluginVersion) + " is needed"));
}

TEST_CASE("a plugin is asked for its facts through the interface") {
  const CudaPlugin& plugin = load_cuda_plugin(GOOD_PLUGIN);
  CHECK(plugin.facts().driver_version == 12040);
  CHECK(&load_cuda_plugin(GOOD_PLUGIN) == &plugin);
  CHECK_THAT(refused(plugin.facts(), 0, "550.54"),
             says("550.54") && says("CUDA 12.4") && says("CUDA 13.0 is needed"));
}

TEST_CASE("drivers and devices that do not serve are refused with what was found and what is needed") {
  CHECK_NOTHROW(check_cuda_device(two_devices(), 0, "580.65"));
  CudaFacts facts;
  CHECK_THAT(refused(facts, 0), says("no CUDA device on this machine") && says("no NVIDIA driver"));
  CHECK_THAT(refused(facts, 0, "580.65"), says("driver 580.65 is loaded") && says("libcuda.so.1"));
  facts = two_devices();
  facts.driver_version = 12020;
  CHECK_THAT(refused(facts, 0, "535.104"),
             says("535.104") && says("CUDA 12.2") && says("CUDA 13.0") && says("580"));
  facts = two_devices();
  facts.problem = "cudaGetDeviceCount failed: system not yet initialized";
  CHECK_THAT(refused(facts, 0), says("not yet initialized"));
  facts = two_devices();
  CHECK_THAT(refused(facts, 2), says("2 CUDA devices") && says("cuda:0 to cuda:1") && says("\"cuda:2\""));
  CHECK_THAT(refused(facts, 1), says("Tesla V100") && says("7.0") && says("8.0 or newer"));
  facts.devices.resize(1);
  CHECK_THAT(refused(facts, 1), says("one CUDA device"));
  facts.devices.clear();
  CHECK_THAT(refused(facts, 0), says("no CUDA device") && says("CUDA_VISIBLE_DEVICES") && says("MIG"));
}

TEST_CASE("where memory does not suffice, a device that others use too is told") {
  const c10::Device device(c10::kCUDA, 0);
  CHECK_THAT(memory_hint(device, {40'000'000'000, 80'000'000'000}),
             says("40.0 GB of it are taken") && says("nvidia-smi"));
  CHECK_THAT(memory_hint(device, {79'000'000'000, 80'000'000'000}),
             says("a larger device") && !says("taken"));
  CHECK_THAT(memory_hint(c10::kCPU, {1'000'000'000, 80'000'000'000}),
             says("a larger machine") && !says("taken"));
}

TEST_CASE("the plugin is looked for beside the program, or where the environment says") {
  unsetenv("ISOBAR_CUDA_PLUGIN");
  CHECK(cuda_plugin_file().filename() == "libisobar_cuda.so");
  CHECK(cuda_plugin_file().parent_path().filename() == "lib");
  setenv("ISOBAR_CUDA_PLUGIN", "/nowhere/plugin.so", 1);
  CHECK(cuda_plugin_file() == "/nowhere/plugin.so");
  CHECK(likely_device_kind() == "cpu");  // with or without a driver: there is no such plugin
  CHECK_FALSE(cuda_is_usable());
  unsetenv("ISOBAR_CUDA_PLUGIN");
  if (!has_nvidia_driver()) {
    setenv("ISOBAR_CUDA_PLUGIN", OLD_PLUGIN, 1);
    CHECK_FALSE(cuda_is_usable());  // without a driver it is not even loaded
    CHECK_THAT(error_of([] { require_cuda(0); }), says("no NVIDIA driver"));
    unsetenv("ISOBAR_CUDA_PLUGIN");
    CHECK_THAT(error_of([] { cuda_plugin(); }, Exit::failed), says("no CUDA device was chosen"));
  }
}
