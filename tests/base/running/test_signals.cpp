// Requests to stop: when two are one.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "running/signals.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

/// How a process ends that does this: its exit code, or 128 + signal.
int end_of(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE(
    "two requests within an instant are one, as a launcher and a scheduler make them; a later one ends") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto asked_after = [&](std::int64_t time_us) {
      return end_of([&] {
        SetClock clock;
        const StopSignals signals;
        std::raise(signal);
        clock.advance_us(time_us);
        std::raise(signal);
        return StopSignals::requested() == signal ? 75 : 1;
      });
    };
    CHECK(asked_after(0) == 75);
    CHECK(asked_after(250'000) == 75);
    CHECK(asked_after(250'001) == 128 + signal);
  }
}

TEST_CASE("a warning may come as often as it likes") {
  CHECK(end_of([] {
          SetClock clock;
          const StopSignals signals;
          for (int i = 0; i < 3; ++i) {
            std::raise(SIGUSR1);
            clock.advance_us(1'000'000);
          }
          return StopSignals::requested() == SIGUSR1 ? 75 : 1;
        }) == 75);
}
