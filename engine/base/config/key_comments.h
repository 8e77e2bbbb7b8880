#pragma once
// What each key means, as lessons/base.toml says it beside the default.
#include <filesystem>
#include <map>
#include <string>

namespace isobar {

/// "optim.lr" -> "peak learning rate".
std::map<std::string, std::string> key_comments(const std::filesystem::path& home);

}  // namespace isobar
