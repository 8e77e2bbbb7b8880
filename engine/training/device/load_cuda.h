#pragma once
// Finding, loading and refusing the CUDA plugin. It must be loaded before libtorch is first asked whether
// there is CUDA: libtorch keeps the first answer for good.
#include <filesystem>
#include <string>

#include "device/cuda_plugin.h"

namespace isobar {

/// Loads `file` with all its symbols global, as libtorch's CUDA libraries need. Errors (exit code 2): there
/// is no such file, the loader refuses it (with its reason), it is no plugin, it is one of another version.
const CudaPlugin& load_cuda_plugin(const std::filesystem::path& file);

/// Why nothing can be computed on device `index` of a machine with these facts, as an Error (exit code 2): no
/// driver, a driver too old for the CUDA runtime, no device at all, no such index, a device too old for our
/// code. `driver` is the driver's own version ("535.104.05"), "" when unknown.
void check_cuda_device(const CudaFacts& facts, int index, const std::string& driver);

/// Checks this machine, and returns the plugin that serves it from then on.
const CudaPlugin& require_cuda(int index);

/// Whether "auto" takes a CUDA device: driver, plugin and a usable first device are all there. Without a
/// driver, or without a plugin, nothing is loaded. A plugin that is there but cannot be used is an Error, as
/// in load_cuda_plugin.
bool cuda_is_usable();

/// The plugin that require_cuda chose. Calling it before is an Error (exit code 1).
const CudaPlugin& cuda_plugin();
/// For tests: `plugin` serves from now on, a device of their own.
void choose_cuda_plugin(const CudaPlugin& plugin);

}  // namespace isobar
