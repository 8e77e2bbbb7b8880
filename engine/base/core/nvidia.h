#pragma once
// What can be known of NVIDIA devices without loading anything: for programs that link no CUDA.
#include <filesystem>
#include <string>

namespace isobar {

/// Whether an NVIDIA driver is loaded on this machine: its control device or its entry in /proc is there.
/// Takes microseconds; without a driver there is no point in loading anything of CUDA. `root` holds dev/ and
/// proc/. cmake/setup/machine.sh has the same rule.
bool has_nvidia_driver(const std::filesystem::path& root = "/");

/// "580.65.06" of the loaded driver, "" when it is not known.
std::string nvidia_driver_version();

/// The CUDA plugin of this build: $ISOBAR_CUDA_PLUGIN, else ../lib/libisobar_cuda.so beside this program. It
/// need not be there.
std::filesystem::path cuda_plugin_file();

/// "cuda" when driver and plugin are there, else "cpu": what "auto" most likely means, for programs that do
/// not load the plugin. The training program asks the driver itself.
std::string likely_device_kind();

}  // namespace isobar
