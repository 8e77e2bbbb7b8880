#pragma once
// Runs that lie beside a lesson, for a machine that cannot run it.
#include <filesystem>
#include <string>

#include "config/lesson.h"

namespace isobar {

/// The run to open for a lesson: the newest recorded one, else the predicted one. Error (exit code 2) for no
/// such lesson, or one without either.
std::filesystem::path recorded_folder(const std::string& lesson);

/// What one of the lesson's other recorded and predicted runs shows beside this one, and a line for each;
/// nothing where there are none.
void print_other_recorded(const std::string& lesson, const std::filesystem::path& shown);

/// Says on standard error that the lesson cannot run here, and shows what was recorded or predicted instead.
/// The exit code (2).
int show_instead_of_running(const LessonInfo& lesson);

}  // namespace isobar
