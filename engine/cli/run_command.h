#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `run LESSON [options]`: checks the configuration, makes the embedded data set where it is wanted and
/// missing, and starts the lesson's program. A lesson whose device is not here is said so, and a recorded or
/// predicted run of it is shown instead (exit code 2).
int run_command(const std::vector<std::string>& arguments);

/// `data make [options]`: becomes make_fields. `data check FOLDER`: see check_command.h.
int data_command(const std::vector<std::string>& arguments);

}  // namespace isobar
