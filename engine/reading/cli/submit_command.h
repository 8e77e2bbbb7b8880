#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `submit LESSON --nodes N ...`: writes the script of a batch job into a run folder, submits it, and with
/// `--follow` watches it; `--dry-run` only shows the script. `submit JOB --status`, `--follow`, `--cancel`.
int submit_command(const std::vector<std::string>& arguments);

}  // namespace isobar
