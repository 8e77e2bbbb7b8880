#pragma once
#include <string>
#include <utility>
#include <vector>

namespace isobar {

/// The `[environment]` table of run.toml: where and with what a run was made. `more`
/// holds what depends on the wing, such as the device and the version of libtorch.
std::string environment_toml(const std::vector<std::pair<std::string, std::string>>& more, int threads,
                             const std::vector<std::string>& command);

}  // namespace isobar
