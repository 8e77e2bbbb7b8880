#pragma once
#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace isobar {

/// The `[environment]` table of run.toml: what is needed to tell where and with what a run was made. Text of
/// one TOML table.
std::string environment_toml(c10::Device device, int threads, const std::vector<std::string>& command);

}  // namespace isobar
