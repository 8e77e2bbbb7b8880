#pragma once
// Starting the scenarios of Comm.
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "support/catch.h"
#include "support/rank_scenarios.h"
#include "support/says.h"

namespace isobar::testing {

inline RanksEnded run(int ranks, const std::vector<std::string>& words) { return run_scenario(ranks, words); }

inline void passes(int ranks, const std::vector<std::string>& words) {
  const RanksEnded ended = run(ranks, words);
  INFO(joined(words, " ") << "\n" << said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

inline const std::string& errors_of(const RanksEnded& ended, int rank) {
  return ended.ranks[static_cast<std::size_t>(rank)].errors;
}

}  // namespace isobar::testing
