// Groups of ranks, and what ranks know of each other.
#include <catch2/catch.hpp>

#include "comm/comm_runs.h"

using namespace isobar;
using namespace isobar::testing;

TEST_CASE("who waited before for something of the same name has not come to this one") {
  const RanksEnded ended = run(2, {"stale", "gloo"}, 30);
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.first == 1);
  CHECK_THAT(errors_of(ended, 0), says("for checkpoint") && says("Arrived: 0. Missing: 1, "));
}

TEST_CASE("a group says what it does where its world was told to, whenever that was") {
  passes(2, {"told", GENERATE("gloo", "ring")});
}
