// The main of a check program: runs the checks one after the other up to the first that does not hold, and
// reports each as a line of JSON. Only the processes of the checks load the learner's part: what it prints or
// ends, here it is not.
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
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

/// Prints the finding, and returns whether the check holds.
bool say_check(const std::string& name, const std::optional<Finding>& finding, const std::string& shown) {
  JsonLine line("check");
  line.add("name", name).add("holds", !finding);
  if (!shown.empty()) line.add("picture", shown);
  if (finding) line.add("expected", finding->expected).add("came", finding->came).add("look", finding->look);
  return say(line, finding ? 1 : 0) == 0;
}

/// "isobar::mine::make_read_ahead" from the loader's error about an undefined symbol; else its error.
std::string load_problem() {
  const std::string said = dlerror();
  const std::string head = "undefined symbol: ";
  const std::size_t at = said.find(head);
  if (at == std::string::npos) return said;
  const std::string symbol = said.substr(at + head.size());
  const std::string name = demangled(symbol.substr(0, symbol.find_first_of(" ,")).c_str());
  return name.substr(0, name.find('('));
}

/// What the library gives, in the process of a check. Without it the check ends with what the loader found,
/// and nothing expected.
const void* load_part(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  using Give = const void* (*)();
  const auto give = opened == nullptr ? nullptr : reinterpret_cast<Give>(dlsym(opened, "isobar_part"));
  if (give == nullptr) not_yet({.expected = "", .came = load_problem(), .look = ""});
  return give();
}

/// How long a check may hang: as a person asked for, or as it is.
double hang_s(double otherwise) {
  const char* const asked = std::getenv("ISOBAR_CHECK_S");
  if (asked == nullptr || *asked == '\0') return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(asked, &end);
  if (*end != '\0' || !(seconds >= 1 && seconds <= 3600))
    throw std::runtime_error(std::string("ISOBAR_CHECK_S is \"") + asked +
                             "\", which is no number of seconds from 1 to 3600");
  return seconds;
}

int run(const std::string& library, const std::string& source) {
  CheckSetting setting;
  setting.source = source;
  setting.library = library;
  setting.folder = library.substr(0, library.rfind('/'));
  setting.hang_s = setting.sleep_s = hang_s(setting.hang_s);
  // What its constants and static objects do is watched too.
  const Check load{"load", [&] { load_part(library); }};
  if (const auto finding = run_check(load, setting)) {
    if (finding->expected.empty()) return say(JsonLine("load").add("problem", finding->came), 2);
    say_check(load.name, finding, "");
    return 1;
  }
  const Checks all = checks_of_part(nullptr);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Check check{all[i].name, [&] { checks_of_part(load_part(library))[i].run(); }};
    std::string shown;
    const std::optional<Finding> finding = run_check(check, setting, &shown);
    if (!say_check(check.name, finding, shown)) return 1;
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
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    return isobar::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    return isobar::say(isobar::JsonLine("machine").add("problem", error.what()), 2);
  }
}
