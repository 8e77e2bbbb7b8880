// The ring and the emulated link between real processes.

#include <string>
#include <vector>

#include "support/catch.h"
#include "support/rank_scenarios.h"

using namespace isobar;
using namespace isobar::testing;

TEST_CASE("the ring gives what Gloo gives, for every type and length") {
  const int ranks = GENERATE(2, 3, 4);
  const RanksEnded ended = run_scenario(ranks, {"types"});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

TEST_CASE("a mean of two is Gloo's sum divided, to the bit; of whole numbers there is none") {
  const RanksEnded ended = run_scenario(2, {"means"});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK(ended.ranks.at(0).output.find("a mean of Int has no exact value") != std::string::npos);
}

TEST_CASE("a rank that is killed is named, and nobody hangs") {
  const int ranks = GENERATE(2, 4);
  const std::vector<std::string> words =
      GENERATE(std::vector<std::string>{"lost"}, std::vector<std::string>{"lost", "to each"});
  const RanksEnded ended = run_scenario(ranks, words);
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.first == 1);
  for (const RankEnded& rank : ended.ranks) {
    if (rank.rank == 1) continue;
    CHECK(rank.code == 0);
    CHECK(rank.output.find("rank 1 (process ") != std::string::npos);
    CHECK(rank.output.find("has ended") != std::string::npos);
  }
}

TEST_CASE("collectives over an emulated link take what the formula says") {
  struct Setting {
    int ranks;
    const char* latency_us;
    const char* gbit_per_s;
  };
  const Setting setting = GENERATE(Setting{2, "0", "1"}, Setting{2, "2000", "0"}, Setting{2, "1000", "0.5"},
                                   Setting{3, "500", "1"});
  const RanksEnded ended = run_scenario(setting.ranks, {"formula", setting.latency_us, setting.gbit_per_s});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

TEST_CASE("an emulated link covers every collective, and all ranks agree about when each ends") {
  const int ranks = GENERATE(2, 3);
  const RanksEnded ended = run_scenario(ranks, {"ends"});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

TEST_CASE("a group inside a node has its own emulated link, and all others that between nodes") {
  const auto [link, node_link] = GENERATE(std::pair{"0.5", "10"}, std::pair{"1", "0"});
  const RanksEnded ended = run_scenario(4, {"nested", link, node_link});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}
