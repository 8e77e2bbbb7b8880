#include "exercise/skeleton.h"

#include <fmt/format.h>

#include <sstream>

#include "core/error.h"

namespace isobar {
namespace {

enum class Cut { skeleton, solution };

std::string cut(const std::string& text, const std::string& origin, Cut what) {
  std::istringstream lines(text);
  std::string out;
  bool inside = false;
  int number = 0;
  const auto refuse = [&](const char* why) {
    throw Error(why, fmt::format("{}:{}", origin, number), "// BEGIN what to do ... // END", Exit::failed);
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t at = line.find_first_not_of(' ');
    const std::string indent = at == std::string::npos ? "" : line.substr(0, at);
    const std::string rest = at == std::string::npos ? "" : line.substr(at);
    if (rest.starts_with("// BEGIN ")) {
      if (inside) refuse("BEGIN within a part that is cut");
      if (rest.back() != '.' && rest.back() != '?')
        refuse("what is to be done stands on one line, with its end");
      inside = true;
      if (what == Cut::skeleton) out += indent + "// YOU: " + rest.substr(9) + "\n";
    } else if (rest == "// END") {
      if (!inside) refuse("END without BEGIN");
      inside = false;
    } else if (rest.starts_with("//> ")) {
      if (!inside) refuse("a line of the skeleton outside of a part that is cut");
      if (what == Cut::skeleton) out += indent + rest.substr(4) + "\n";
    } else if (!inside || what == Cut::solution) {
      out += line + "\n";
    }
  }
  if (inside) refuse("BEGIN without END");
  return out;
}

}  // namespace

std::string cut_skeleton(const std::string& solution, const std::string& origin) {
  return cut(solution, origin, Cut::skeleton);
}

std::string plain_solution(const std::string& solution, const std::string& origin) {
  return cut(solution, origin, Cut::solution);
}

}  // namespace isobar
