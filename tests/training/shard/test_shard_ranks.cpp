// States that ranks share out, in real processes, against replicas that hold all of them.
#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"

namespace isobar::test_shard_ranks {

using namespace isobar::testing;

namespace {

const std::vector<std::string> kStages = {"zero=0", "zero=1", "zero=2", "zero=3"};

/// By day some of what differs little is left out.
bool has_all() { return all_or_one(kStages, 0).size() > 1; }

}  // namespace

TEST_CASE("every stage trains as replicas do, sends its units, and on 2 ranks gives the same bits") {
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    for (const std::string& backend : all_or_one({"gloo", "ring"}, i)) {
      INFO(kStages[i] << " " << backend);
      passes(2, {"equal", kStages[i], "backend=" + backend, "bits"});
      if (i % 2 == 1 || has_all()) passes(4, {"equal", kStages[i], "backend=" + backend});
    }
  }
}

TEST_CASE("weights that stay until backward, come early or late, and gradients that leave late") {
  passes(2, {"equal", "zero=3", "reshard=0", "bits"});
  passes(2, {"equal", "zero=3", "prefetch=0", "bits"});
  passes(2, {"equal", "zero=3", "prefetch=3", "bits"});
  for (const std::string& stage : all_or_one({"zero=3", "zero=1", "zero=2"}, 0))
    passes(2, {"equal", stage, "overlap=0", "bits"});
}

TEST_CASE("16 bits: products alone, and weights that travel rounded beside float32 shares") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    if (stage == "zero=3" || has_all()) passes(2, {"equal", stage, "amp=bf16", "bits"});
    if (stage != "zero=0") passes(2, {"equal", stage, "amp=bf16", "gather=16", "bits"});
  }
  passes(2, {"equal", "zero=3", "amp=bf16", "gather=16", "reshard=0", "bits"});
  passes(2, {"equal", "zero=3", "amp=bf16", "gather=16", "backend=gloo", "bits"});
  if (has_all()) passes(4, {"equal", "zero=3", "amp=bf16", "gather=16"});
}

TEST_CASE("an overflow on one rank makes all of them skip the step") {
  for (const std::string& stage : all_or_one(kStages, 3)) {
    INFO(stage);
    passes(2, {"equal", stage, "amp=fp16", "overflow=2", "bits"});
  }
  passes(2, {"equal", "zero=1", "amp=fp16", "overflow=2", "kernel=plain"});
}

TEST_CASE("micro-batches add up") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    passes(2, {"equal", stage, "accumulate=3"});
  }
}

TEST_CASE("every kernel of Adam updates shares, and shortens a gradient by the length of all of them") {
  for (const Picks& c :
       pairs({kStages, {"kernel=own", "kernel=libtorch", "kernel=plain"}, {"clip=0.01", "clip=0"}})) {
    INFO(joined(c, " "));
    passes(2, {"equal", c[0], c[1], c[2]});
  }
}

TEST_CASE("models that are split over ranks share the states of their pieces out") {
  for (const std::string& stage : kStages) {
    INFO(stage);
    if (stage != "zero=0" || has_all()) passes(4, {"equal", stage, "tp=2", "tokens=1", "clip=0.01"});
    if (has_all()) passes(4, {"equal", stage, "tp=2"});
  }
}

TEST_CASE("a forecast gathers weights and leaves none") {
  passes(2, {"forecast", "zero=3"});
  passes(2, {"forecast", "zero=3", "reshard=0"});
}

TEST_CASE("a rank holds the states that its stage leaves it, and little passes by in a step") {
  passes(4, {"memory"});
  if (has_all()) passes(2, {"memory"});
}

TEST_CASE("mistakes in sharing states out show") {
  const Picks mistakes = {"stale_gather", "no_pad", "clip_local_norm"};
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    for (const std::string& stage : all_or_one({"zero=1", "zero=2", "zero=3"}, i)) {
      INFO(mistakes[i] << " " << stage);
      passes(2, {"mistake", mistakes[i], stage, "clip=0.01"});
    }
  }
}

}  // namespace isobar::test_shard_ranks
