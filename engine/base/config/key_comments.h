#pragma once
// The meaning of each key, from the comment beside its default in lessons/base.toml.
#include <filesystem>
#include <map>
#include <string>

namespace isobar {

/// "optim.lr" -> "peak learning rate".
std::map<std::string, std::string> key_comments(const std::filesystem::path& home);

}  // namespace isobar
