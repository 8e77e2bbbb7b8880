#pragma once
// Programs of commands (isobar-run, isobar-cli), `run` and `data`, and how commands start the programs that
// lie beside them. A command gets the words behind its name and gives the exit code; --help prints its page.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/lesson.h"
#include "config/load.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "launch/supervise.h"

namespace isobar {

using Words = std::vector<std::string>;

using CommandFunction = int(const Words& words);

struct Command {
  const char* name;
  CommandFunction* run;
};

/// `main` of a program of these commands: the first word names one.
int run_program(std::span<const Command> commands, int argc, char** argv);

/// What is shown where a lesson's device is not here; the exit code.
using ShowInstead = int (*)(const LessonInfo& lesson);

/// Checks the configuration, makes the embedded data set where it is wanted and missing, and starts the
/// lesson's program.
/// `program_prefix` in front of the lesson's name names another program of it: "mine_".
int run_command(const Words& words, ShowInstead show_instead, const std::string& program_prefix = "");

/// Synthetic weather, and a look at any data set.
CommandFunction data_command;
/// `data check FOLDER`: any data set in the tutorial's layout: files that open, shapes that agree, values
/// that are finite, statistics that fit; each finding is a line, and 2 when something is wrong.
int check_data(const Words& words);

/// Where the lessons' programs are.
std::filesystem::path program_folder();

/// The Error for a program that the system ended, which could not print one itself.
std::optional<Error> killed_error(const Ended& ended, const std::string& program);

/// Turns this process into another program of ours. Error when it is not built.
[[noreturn]] void become(std::vector<std::string> words);

/// Runs a program of ours on this terminal and returns its exit code (128 + signal).
int start_and_wait(const std::vector<std::string>& words);

/// Starts `ranks` processes that train together on this machine, and waits. The last line names the rank that
/// failed first, and how, when one did.
int start_ranks_and_wait(const std::vector<std::string>& words, int ranks);

/// Makes the embedded data set of this grid where it is wanted and missing; a lesson that stands alone wants
/// none. One that is large is made with
/// fewer samples where no preset was named; else an Error (exit code 2) has the command. Of several processes
/// that somebody else started on this machine (srun) one makes it and the others wait. The exit code of what
/// makes it; `quiet`: without a word on standard output.
int ensure_data(const LessonInfo& lesson, const LoadedConfig& loaded, bool quiet = false);

/// Whether the lesson wants a device that is not here, and the Error (exit code 2) for it.
bool lacks_device(const LessonInfo& lesson);
Error needs_device(const LessonInfo& lesson);

/// Error (exit code 1) for a program of a lesson that is not there.
Error not_built(const std::string& lesson, const std::filesystem::path& program);

/// Error when the lesson cannot run here at all: it needs a device that is not there (exit code 2), or is not
/// built (exit code 1).
void check_can_run(const LessonInfo& lesson);

}  // namespace isobar
