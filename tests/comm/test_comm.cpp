#include <catch2/catch.hpp>

#include "support/rank_scenarios.h"

using namespace isobar;
using namespace isobar::testing;

TEST_CASE("an all-reduce gives every rank the sum") {
  const int ranks = GENERATE(1, 2, 4);
  const RanksEnded ended = run_scenario("comm_scenarios", ranks, {"sums"});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}
