// States shared out within groups, kept in host memory, updated by Muon, and saved by any ranks for any
// others.
#include "core/text.h"
#include "support/catch.h"
#include "support/rank_scenarios.h"
#include "support/temp_folder.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

void passes(int ranks, const std::vector<std::string>& words) {
  const RanksEnded ended = run_scenario(ranks, words);
  INFO(joined(words, ", ") << "\n" << said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

}  // namespace

TEST_CASE(
    "two groups of two ranks train as four that average, in every stage, and send what the formula says") {
  for (const std::string zero : {"0", "1", "2", "3"}) passes(4, {"hybrid", "shard=2 zero=" + zero});
}

TEST_CASE("states in host memory change no bit, and what moves is counted") {
  for (const std::string zero : {"1", "2", "3"})
    passes(2, {"offload", "ranks=2 offload=optimizer zero=" + zero});
  passes(2, {"offload", "ranks=2 offload=weights zero=3"});
  passes(2, {"offload", "ranks=2 offload=weights zero=3 gather=16"});
  passes(2, {"offload", "ranks=2 offload=optimizer zero=2 gather=16"});
}

TEST_CASE("Muon of shared states is Muon of whole ones, for one more gather") {
  for (const std::string zero : {"1", "2", "3"}) passes(2, {"muon", "ranks=2 optim=muon zero=" + zero});
  passes(4, {"muon", "shard=2 optim=muon zero=1"});
}

TEST_CASE("training goes on from what other ranks saved in another stage") {
  struct Pair {
    const char* from;
    const char* to;
    bool to_the_bit = false;
  };
  const std::vector<Pair> pairs = {{"zero=1", "zero=3"},
                                   {"zero=3", "zero=0"},
                                   {"zero=0", "zero=2"},
                                   {"zero=2", "zero=2 ranks=2"},
                                   {"zero=3 ranks=2", "zero=1 shard=2"},
                                   {"zero=2 shard=2", "zero=0 ranks=1"},
                                   {"zero=1 optim=muon", "zero=3 ranks=2 optim=muon"},
                                   {"zero=1 offload=optimizer", "zero=3 offload=weights"},
                                   {"zero=3", "zero=3", true},
                                   {"zero=1 shard=2", "zero=1 shard=2", true},
                                   {"zero=2 gather=16", "zero=2 gather=16", true}};
  for (const Pair& pair : pairs) {
    const TempFolder folder;
    std::vector<std::string> words = {"resume", pair.from, pair.to, (folder.path() / "c").string()};
    if (pair.to_the_bit) words.push_back("bits");
    passes(4, words);
  }
}
