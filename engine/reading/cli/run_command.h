#pragma once
#include <string>
#include <vector>

#include "config/lesson.h"

namespace isobar {

/// What is shown where a lesson's device is not here; the exit code.
using ShowInstead = int (*)(const LessonInfo& lesson);

/// `run LESSON [options]`: checks the configuration, makes the embedded data set where it is wanted and
/// missing, and starts the lesson's program.
int run_command(const std::vector<std::string>& arguments, ShowInstead show_instead);

/// `data make [options]`: becomes make_fields. `data check FOLDER`: see check_command.h.
int data_command(const std::vector<std::string>& arguments);

}  // namespace isobar
