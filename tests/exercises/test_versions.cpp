// Skeleton, solution and mistakes of one exercise: each is told what it is to be told, and nothing that
// belongs to another. No Catch2: checks fork, and threads of a test program would be lost in them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
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

/// The first check that does not hold. Those before the expected one run in one process, which looks for
/// leaks once, and by themselves only if not all of them hold there.
Told told(const Version& version) {
  CheckSetting setting;
  setting.source = version.source;
  setting.hang_s = 1;  // what hangs stands still
  const Checks checks = checks_of_part(version.part);
  const auto expected =
      std::ranges::find_if(checks, [&](const Check& check) { return check.name == version.check; });
  const Check before{"before", [&] {
                       for (auto check = checks.begin(); check != expected; ++check) check->run();
                     }};
  const bool hold = expected != checks.end() && !run_check(before, setting);
  for (auto check = hold ? expected : checks.begin(); check != checks.end(); ++check) {
    const auto finding = run_check(*check, setting);
    if (!finding) continue;
    const bool race = __tsan_init != nullptr && finding->came.find("data race") != std::string::npos;
    return {race ? "race" : check->name,
            "expected " + finding->expected + ", came " + finding->came + "; look at " + finding->look};
  }
  return {};
}

bool is_as_wanted(const Version& version, const std::vector<Version>& all) {
  const Told came = told(version);
  bool good = came.check == version.check && came.sentence.find(version.says) != std::string::npos;
  const std::vector<std::string> finds = finds_of_mistakes();
  const auto found = std::ranges::find_if(
      finds, [&](const std::string& one) { return came.sentence.find(one) != std::string::npos; });
  if (const std::string& own = found == finds.end() ? std::string() : *found; own != version.finds) {
    std::printf("  %s gets the hints of \"%s\", not \"%s\"\n", version.name.c_str(), own.c_str(),
                version.finds.c_str());
    good = false;
  }
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

constexpr int kAtOnce = 4;  // most of them wait

int run(const char* only) {
  const std::vector<Version> all = versions();
  std::vector<const Version*> wanted;
  for (const Version& version : all)
    if (version.part != nullptr && (only == nullptr || version.name == only)) wanted.push_back(&version);
  void* const shared = mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory is shared");
  std::atomic<std::size_t>& next = *new (shared) std::atomic<std::size_t>(0);
  std::vector<pid_t> workers;
  for (int i = 0; i < kAtOnce; ++i) {
    workers.push_back(fork());
    if (workers.back() != 0) continue;
    int failures = 0;
    for (std::size_t at = next++; at < wanted.size(); at = next++)
      failures += is_as_wanted(*wanted[at], all) ? 0 : 1;
    _exit(failures);
  }
  int failures = 0;
  for (const pid_t worker : workers) {
    int status = 0;
    const bool ended = waitpid(worker, &status, 0) == worker && WIFEXITED(status);
    failures += ended ? WEXITSTATUS(status) : 1;
  }
  const std::size_t looked_at = wanted.size();
  std::printf("%zu versions, %d not as wanted\n", looked_at, failures);
  return failures == 0 && looked_at > 0 ? 0 : 1;
}

}  // namespace
}  // namespace isobar

int main(int argc, char** argv) { return isobar::run(argc > 1 ? argv[1] : nullptr); }
