#pragma once
#include <filesystem>
#include <string>

namespace isobar {

/// The run that `name` names. Error (exit code 2) for a job's that has not begun too.
std::filesystem::path find_shown_run(const std::string& name);

}  // namespace isobar
