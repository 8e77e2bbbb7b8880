#pragma once
// A scenario (rank_scenarios.h) that is to end well on all ranks.
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/rank_scenarios.h"

namespace isobar::testing {

inline void passes(int ranks, const std::vector<std::string>& words) {
  const RanksEnded ended = run_scenario(ranks, words);
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

}  // namespace isobar::testing
