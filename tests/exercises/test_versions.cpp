// Skeleton, solution and mistakes of one exercise: each is told what it is to be told, and nothing that
// belongs to another. No Catch2: checks fork, and threads of a test program would be lost in them.
#include <cstdio>
#include <cstring>
#include <string>

#include "check/check.h"
#include "check/run_check.h"
#include "exercises/versions.h"

extern "C" [[gnu::weak]] void __tsan_init();

namespace isobar {

namespace {

struct Told {
  std::string check;
  std::string sentence;
};

/// The first check that does not hold.
Told told(const Version& version) {
  CheckSetting setting;
  setting.source = version.source;
  setting.hang_s = 1;  // what hangs stands still
  for (const Check& check : checks_of_part(version.part)) {
    const auto finding = run_check(check, setting);
    if (!finding) continue;
    const bool race = __tsan_init != nullptr && finding->came.find("data race") != std::string::npos;
    return {race ? "race" : check.name,
            "expected " + finding->expected + ", came " + finding->came + "; look at " + finding->look};
  }
  return {};
}

bool is_as_wanted(const Version& version, const std::vector<Version>& all) {
  const Told came = told(version);
  bool good = came.check == version.check && came.sentence.find(version.says) != std::string::npos;
  for (const Version& other : all) {
    if (other.name != version.name && !other.says.empty() &&
        came.sentence.find(other.says) != std::string::npos) {
      std::printf("  %s is told what %s is to be told\n", version.name.c_str(), other.name.c_str());
      good = false;
    }
  }
  std::printf("%s %s: [%s] %s\n", good ? "ok  " : "FAIL", version.name.c_str(), came.check.c_str(),
              came.sentence.c_str());
  if (!good) std::printf("     wanted: [%s] ... %s ...\n", version.check.c_str(), version.says.c_str());
  std::fflush(stdout);
  return good;
}

int run(const char* only) {
  const std::vector<Version> all = versions();
  int failures = 0;
  int looked_at = 0;
  for (const Version& version : all) {
    if (only != nullptr && version.name != only) continue;
    if (version.part == nullptr) continue;
    ++looked_at;
    failures += is_as_wanted(version, all) ? 0 : 1;
  }
  std::printf("%d versions, %d not as wanted\n", looked_at, failures);
  return failures == 0 && looked_at > 0 ? 0 : 1;
}

}  // namespace
}  // namespace isobar

int main(int argc, char** argv) { return isobar::run(argc > 1 ? argv[1] : nullptr); }
