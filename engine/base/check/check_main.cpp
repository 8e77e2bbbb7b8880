// The main of a check program: loads the learner's part, runs the checks one after the other up to the first
// that does not hold, and says of each a line of JSON.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "check/check.h"
#include "check/run_check.h"
#include "core/symbol.h"
#include "record/json_line.h"

namespace isobar {

namespace {

int say(const JsonLine& line, int code) {
  std::fputs(line.text().c_str(), stdout);
  std::fflush(stdout);
  return code;
}

/// Prints it, and says whether it holds.
bool say_check(const std::string& name, const std::optional<Finding>& finding) {
  JsonLine line("check");
  line.add("name", name).add("holds", !finding);
  if (finding) line.add("expected", finding->expected).add("came", finding->came).add("look", finding->look);
  return say(line, finding ? 1 : 0) == 0;
}

/// "isobar::mine::make_read_ahead" of what the loader says of a symbol that nothing defines; else its words.
std::string load_problem() {
  const std::string said = dlerror();
  const std::string head = "undefined symbol: ";
  const std::size_t at = said.find(head);
  if (at == std::string::npos) return said;
  const std::string symbol = said.substr(at + head.size());
  const std::string name = demangled(symbol.substr(0, symbol.find_first_of(" ,")).c_str());
  return name.substr(0, name.find('('));
}

int run(const std::string& library, const std::string& source) {
  CheckSetting setting;
  setting.source = source;
  // What its constants and static objects do is watched too.
  const Check load{"load", [&] { dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL); }};
  if (const auto finding = run_check(load, setting); finding && !say_check(load.name, finding)) return 1;
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return say(JsonLine("load").add("problem", load_problem()), 2);
  using Give = const void* (*)();
  const auto give = reinterpret_cast<Give>(dlsym(opened, "isobar_part"));
  if (give == nullptr) return say(JsonLine("load").add("problem", load_problem()), 2);
  for (const Check& check : checks_of_part(give())) {
    if (!say_check(check.name, run_check(check, setting))) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace isobar

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: check_LESSON LIBRARY SOURCE\n", stderr);
    return 2;
  }
  return isobar::run(argv[1], argv[2]);
}
