#pragma once
// Starting the programs that lie beside this one, and what they want before they start.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/error.h"
#include "launch/supervise.h"

namespace isobar {

/// Where the lessons' programs are.
std::filesystem::path program_folder();

/// What is to be said of a program that the system ended, since it could not say anything itself.
std::optional<Error> killed_error(const Ended& ended, const std::string& program);

/// Turns this process into another program of ours. Error when it is not built.
[[noreturn]] void become(std::vector<std::string> words);

/// Runs a program of ours on this terminal and returns its exit code (128 + signal).
int start_and_wait(const std::vector<std::string>& words);

/// The same for `ranks` processes of it that train together on this machine. The last line says which rank
/// failed first, and how, when one did.
int start_ranks_and_wait(const std::vector<std::string>& words, int ranks);

/// Makes the embedded data set of this grid where it is wanted and missing; a lesson that stands alone wants
/// none. One that is large is made with
/// fewer samples where nobody named the preset, else the Error (exit code 2) says how. Of several processes
/// that somebody else started on this machine (srun) one makes it and the others wait. The exit code of what
/// makes it; `quiet`: without a word on standard output.
int ensure_data(const LessonInfo& lesson, const LoadedConfig& loaded, bool quiet = false);

/// Whether the lesson wants a device that is not here, and the Error (exit code 2) that says so.
bool lacks_device(const LessonInfo& lesson);
Error needs_device(const LessonInfo& lesson);

/// Error when the lesson cannot run here at all: it needs a device that is not there (exit code 2), or is not
/// built (exit code 1).
void check_can_run(const LessonInfo& lesson);

}  // namespace isobar
