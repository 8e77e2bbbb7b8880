#include "cli/commands.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

int run_program(std::span<const Command> commands, int argc, char** argv) {
  return guarded_main("isobar", [&] {
    const std::string name = argc > 1 ? argv[1] : "";
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& command) { return command.name == name; });
    if (found != commands.end()) return found->run({argv + 2, argv + argc});
    std::vector<std::string> names;
    for (const Command& command : commands) names.emplace_back(command.name);
    throw Error("unknown command \"" + printable(name, 40) + "\"", "./isobar",
                did_you_mean(name, names, "./isobar help lists the commands"));
  });
}

}  // namespace isobar
