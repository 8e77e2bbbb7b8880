// Every test program: Catch2 with an eye on tests that hang.
#define CATCH_CONFIG_RUNNER
// Version 2 aborts in the report of a failure where ": " comes later in the name of a test than a line is
// long.
#define CATCH_CONFIG_CONSOLE_WIDTH 160
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "support/begin.h"
#include "support/catch.h"
#include "support/deadline.h"

namespace {

std::mutex mutex;
std::string running;

class Names final : public CatchListener {
 public:
  using CatchListener::CatchListener;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    const std::lock_guard lock(mutex);
    running = info.name;
  }
};
CATCH_REGISTER_LISTENER(Names)

std::string running_case() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  return running.empty() ? "before the first test" : "\"" + running + "\"";
}

}  // namespace

int main(int argc, char** argv) {
  // In the background of a script, and under nohup, these are ignored, by whatever the tests start too.
  for (const int one : {SIGINT, SIGQUIT, SIGHUP}) std::signal(one, SIG_DFL);
  // Tests that count processors and threads say themselves what an environment gives.
  for (const char* const name : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"}) unsetenv(name);
  setenv("ISOBAR_LEARNER", "0", 1);  // choices stand as in the file
  // Pictures in characters are those of a terminal that can show them, whatever the suite runs in.
  for (const auto& [name, value] : {std::pair{"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}})
    setenv(name, value, 1);
  for (const char* const name : {"NO_COLOR", "ISOBAR_PICTURES"}) unsetenv(name);
  // Said by CMake (isobar_test), whose own limit comes later and says only which program it was.
  std::optional<isobar::Deadline> limit;
  if (const char* const seconds = std::getenv("ISOBAR_TEST_LIMIT_S"))
    limit.emplace(running_case, std::chrono::seconds(std::max(1, std::atoi(seconds))));
  if (isobar::begin_tests != nullptr) {
    if (const int code = isobar::begin_tests(); code != 0) return code;
  }
  return Catch::Session().run(argc, argv);
}
