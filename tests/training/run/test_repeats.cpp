// How work is timed, by clocks that a test moves.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "run/repeats.h"
#include "running/signals.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

TEST_CASE("a known amount of work in a known time is that rate, and an outlier does not matter") {
  SetClock clock;
  int calls = 0;
  const auto slow_at_times = [&] { clock.advance_us(calls++ % 4 == 0 ? 90'000 : 300); };
  const std::vector<double> times_us =
      median_times_us({slow_at_times, [&] { clock.advance_us(700); }}, {.least = 3, .most = 9});
  CHECK(times_us == std::vector<double>{300, 700});
  CHECK(rate_per_s(600, times_us[0]) == 2e6);
}

TEST_CASE("repeats end with the budget, but not before there are some, and there are never too many") {
  SetClock clock;
  const auto calls_with = [&](const Repeats& repeats) {
    int calls = 0;
    median_time_us(
        [&] {
          ++calls;
          clock.advance_us(1000);
        },
        repeats);
    return calls - 1;  // the first is a warm-up
  };
  CHECK(calls_with({.least = 3, .most = 31, .budget_us = 0}) == 3);
  CHECK(calls_with({.least = 3, .most = 31, .budget_us = 4500}) == 5);
  CHECK(calls_with({.least = 3, .most = 31, .budget_us = 1'000'000}) == 31);
}

TEST_CASE("work that takes no time that can be told has a rate all the same") {
  const SetClock clock;
  CHECK(median_time_us([] {}, {}) == 1);
}

TEST_CASE("a request to stop ends the repeats") {
  const pid_t child = fork();  // the request stays for as long as a process lives
  if (child == 0) {
    const StopSignals signals;
    std::raise(SIGTERM);
    try {
      median_time_us([] {}, {});
    } catch (const MeasuringStopped& stopped) {
      _exit(stopped.signal);
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == SIGTERM));
}
