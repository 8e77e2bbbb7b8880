#include "running/environment.h"

#include <sstream>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/commit.h"
#include "core/machine.h"
#include "core/text.h"

namespace isobar {

std::string environment_toml(const std::vector<std::pair<std::string, std::string>>& more, int threads,
                             const std::vector<std::string>& command) {
  std::vector<std::string> typed;
  for (const std::string& argument : command) typed.push_back(shell_quoted(argument));
  std::ostringstream out;
  out << "[environment]  # where and with what; not read back\n"
      << "started = " << toml_string(wall_iso()) << "\n"
      << "host = " << toml_string(host_name()) << "\n"
      << "cpu = " << toml_string(cpu_name()) << "\n";
  for (const auto& [name, value] : more) out << name << " = " << toml_string(value) << "\n";
  out << "threads = " << threads << "\n"
      << "compiler = " << toml_string(__VERSION__) << "\n"
      << "commit = " << toml_string(project_commit()) << "\n"
      << "command = " << toml_string(joined(typed, " ")) << "\n";
  return out.str();
}

}  // namespace isobar
