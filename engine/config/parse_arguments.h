#pragma once
// Words of a command line into the variables that the options of a CLI::App name.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace isobar {

/// False where --help was asked for; `help_text` is then its page. What no option takes is an Error (exit
/// code 2) that names the nearest option.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments, std::string& help_text);

}  // namespace isobar
