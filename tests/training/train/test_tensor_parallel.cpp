// Layers over ranks, in real processes, against one process that has all of the model and the joint batch.

#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"

namespace isobar::test_tensor_parallel {

using namespace isobar::testing;

namespace {

/// Ranks, tp, backend and kernels: `some`, in which all of them meet, or in the nightly tier every
/// combination of them with `meshes`.
void passes_equal(const std::string& form, const Picks& some, const Picks& meshes) {
  for (const Picks& c : cases_of(some, products({meshes, {"ring", "gloo"}, {"fused", "plain"}}))) {
    const Picks words = words_of(joined(c, " "));
    INFO(joined(words, " "));
    passes(std::stoi(words[0]), {"equal", words[2], words[1], form, words[3]});
  }
}

}  // namespace

TEST_CASE("meshes of tp x dp start from, forecast and train as one process does, to the last gradient") {
  passes_equal("whole", {"2 2 ring fused", "2 1 gloo plain", "4 2 ring plain", "4 4 gloo fused"},
               {"2 2", "2 1", "4 2", "4 4"});
}

TEST_CASE("with shared tokens too") {
  passes_equal("tokens", {"2 2 ring fused", "2 2 gloo plain", "4 2 gloo fused", "4 4 ring plain"},
               {"2 2", "4 2", "4 4"});
}

TEST_CASE("blocks that are computed again give the gradients of split layers, to the bit") {
  for (const char* const words : {"ring 1 whole fused block 2 equal", "ring 2 whole fused block 1 more",
                                  "gloo 2 tokens plain selective 1 more", "ring 2 tokens fused cheap 1 more",
                                  "gloo 2 tokens fused block 2 more"}) {
    INFO(words);
    Picks scenario = words_of(words);
    scenario.insert(scenario.begin(), "again");
    passes(2, scenario);
  }
}

TEST_CASE("in 16 bits all ranks of a model skip a step when a piece of one overflows") {
  for (const std::string& backend : all_or_one({"ring", "gloo"}, 0))
    passes(2, {"half", backend, "2", "bf16", "16"});
  for (const std::string& backend : all_or_one({"ring", "gloo"}, 1))
    passes(4, {"half", backend, "4", "bf16", "32"});
}

TEST_CASE("mistakes of split layers show where they are made") {
  passes(2, {"fault", "none", "2", ""});
  passes(2, {"fault", "no_copy_f", "2", "gradients"});
  passes(2, {"fault", "bias_before_reduce", "2", "start forecast gradients"});
  passes(2, {"fault", "same_seed_shards", "2", "start "});
  passes(2, {"fault", "norm_eps_1e-5", "2", "forecast gradients"});
  passes(2, {"fault", "noncontiguous_reduce", "2", "forecast gradients"});
}

}  // namespace isobar::test_tensor_parallel
