#include "config/parse_arguments.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kWhere = "command line";

[[noreturn]] void refuse_extra(const CLI::App& app, const std::string& first) {
  std::vector<std::string> known;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string nearest = nearest_name(first.substr(0, first.find('=')), known);
  throw Error("unknown argument \"" + printable(first, 80) + "\"", kWhere,
              nearest.empty() ? "--help lists what there is" : "did you mean " + nearest + "?");
}

}  // namespace

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments, std::string& help_text) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    help_text = app.help();
    return false;
  } catch (const CLI::ExtrasError&) {
    refuse_extra(app, app.remaining().empty() ? "" : app.remaining().front());
  } catch (const CLI::ParseError& error) {
    throw Error(printable(error.what()), kWhere, "--help lists what there is");
  }
  return true;
}

}  // namespace isobar
