#pragma once
// What a command line needs before it can start, by the table cmake/setup/needs.txt, which describes its own
// form. The shell reads the same table where this program is not built yet (cmake/setup/needs.sh).
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace isobar {

/// Facts of the machine that the table asks for.
struct NeedsMachine {
  bool driver = false;    ///< an NVIDIA driver is here
  bool terminal = false;  ///< a person can be asked
  bool rates = false;     ///< the rates of this machine are measured
};
NeedsMachine needs_machine_here();

struct Needs {
  std::string lesson;                ///< the first word names it; "" without one
  std::string program;               ///< to hand over to; "" = the shell
  std::vector<std::string> targets;  ///< to build
  std::vector<std::string> parts;    ///< groups of packages
  std::set<std::string> facts;       ///< options that are given, and what the rows gave ("torch", "plugin")

  /// "lesson=...", "program=...", "targets=...", "parts=...", "facts=..." in a line each.
  std::string text() const;
};

/// `words` begin with the command. Error (exit code 2) for a table that cannot be read, and for an option
/// without its value.
Needs needs_of(const std::filesystem::path& home, const std::vector<std::string>& words,
               const NeedsMachine& machine);

}  // namespace isobar
