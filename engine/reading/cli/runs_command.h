#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// The run that `name` names. Error (exit code 2) for a job's that has not begun too.
std::filesystem::path find_shown_run(const std::string& name);

/// Where event files of another program are named in the place of a run: what is wrong with that, and a hint.
struct NotARun {
  const char* what;
  const char* hint;
};

/// The runs that `names` name, in their order. Error (exit code 2) for one that is named twice too.
std::vector<std::filesystem::path> find_shown_runs(const std::vector<std::string>& names,
                                                   const NotARun& events);

}  // namespace isobar
