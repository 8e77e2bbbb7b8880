// Stages of a step, means over steps, and the vote to stop after one.
#include "running/steady_sums.h"
#include "running/stop_vote.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

int asked_for = 0;
int asked() { return asked_for; }

}  // namespace

TEST_CASE("stages and the rest sum to the step, and a stage that is entered twice has two intervals") {
  SetClock set_clock;
  const std::int64_t begin_us = steady_us();
  StageClock clock(/*keeps_intervals=*/true);
  set_clock.advance_us(5);
  for (const Stage stage : {Stage::load, Stage::forward, Stage::load}) {
    clock.enter(stage);
    set_clock.advance_us(100);
  }
  clock.leave();
  set_clock.advance_us(7);
  clock.leave();
  CHECK(clock.times().of(Stage::load) == 200);
  CHECK(clock.times().of(Stage::forward) == 100);
  CHECK(clock.times().rest_us == 12);
  CHECK(clock.times().step_us == 312);
  CHECK_FALSE(clock.times().entered[static_cast<std::size_t>(Stage::comm)]);
  REQUIRE(clock.intervals().size() == 3);
  CHECK(clock.intervals()[2].stage == Stage::load);
  CHECK(clock.intervals()[2].begin_us == begin_us + 205);
  CHECK(clock.intervals()[2].end_us == begin_us + 305);
}

TEST_CASE("means are over the steps that were added, with a stage that one of them entered") {
  SteadySums sums;
  StageTimes times;
  for (const int i : {1, 2, 3}) {
    times.step_us = 1000 * i;
    times.entered[static_cast<std::size_t>(Stage::comm)] = i == 2;
    sums.add(8, times, {{&RunSummary::stall_us, 10 * i}});
  }
  RunSummary out;
  sums.put_into(out);
  CHECK(out.step_us == 2000);
  CHECK(out.samples_per_s == Approx(8 / 2e-3));
  CHECK(out.stages_us == std::vector<std::pair<std::string, double>>{{"comm", 0}});
  CHECK(out.stall_us == 20);
}

TEST_CASE("a rank that is alone hears at once, and a vote that was won stays") {
  asked_for = 0;
  StopVote vote(nullptr, asked);
  CHECK(vote.ask(false) == 0);
  asked_for = 15;
  CHECK(vote.ask(false) == 15);
  asked_for = 2;
  CHECK(vote.ask(true) == 15);
  CHECK(vote.signal() == 15);
}

TEST_CASE("of several ranks each learns one call later that one is asked, or at once where it waits") {
  asked_for = 0;
  double other = 0;
  int waits = 0;
  const StopVote::StartMax start_max = [&](double own) {
    return [&, most = std::max(own, other)] {
      ++waits;
      return most;
    };
  };
  StopVote vote(start_max, asked), waiting(start_max, asked);
  CHECK(vote.ask(false) == 0);
  CHECK(waits == 0);
  other = 10;
  CHECK(vote.ask(false) == 0);
  CHECK(waits == 1);
  CHECK(vote.ask(false) == 10);
  CHECK(waiting.ask(true) == 10);
  CHECK(waits == 3);
}
