#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// `runs`: the runs below runs/, with state, skill, throughput and size; `runs name RUN NAME`; `runs note RUN
/// TEXT`; `runs delete RUN [--yes]`, which asks on a terminal and keeps what no run wrote.
int runs_command(const std::vector<std::string>& arguments);

/// The run that `name` names. Error (exit code 2) for a job's that has not begun too.
std::filesystem::path find_shown_run(const std::string& name);

}  // namespace isobar
