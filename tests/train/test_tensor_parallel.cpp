// Layers over ranks, in real processes, against one process that has all of the model and the joint batch.

#include "support/catch.h"
#include "support/rank_scenarios.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

void passes(int ranks, const std::vector<std::string>& words) {
  const RanksEnded ended = run_scenario("tensor_scenarios", ranks, words, /*deadline_s=*/120);
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

}  // namespace

TEST_CASE("meshes of tp x dp start from, forecast and train as one process does, to the last gradient") {
  for (const char* const backend : {"ring", "gloo"}) {
    for (const char* const form : {"fused", "plain"}) {
      INFO(backend << ", " << form);
      passes(2, {"equal", backend, "2", "whole", form});
      passes(2, {"equal", backend, "1", "whole", form});
      passes(4, {"equal", backend, "2", "whole", form});
      passes(4, {"equal", backend, "4", "whole", form});
    }
  }
}

TEST_CASE("with shared tokens too") {
  for (const char* const backend : {"ring", "gloo"}) {
    for (const char* const form : {"fused", "plain"}) {
      INFO(backend << ", " << form);
      passes(2, {"equal", backend, "2", "tokens", form});
      passes(4, {"equal", backend, "2", "tokens", form});
      passes(4, {"equal", backend, "4", "tokens", form});
    }
  }
}

TEST_CASE("in 16 bits all ranks of a model skip a step when a piece of one overflows") {
  for (const char* const backend : {"ring", "gloo"}) {
    passes(2, {"half", backend, "2", "bf16", "16"});
    passes(4, {"half", backend, "4", "bf16", "32"});
  }
}

TEST_CASE("mistakes of split layers show where they are made") {
  passes(2, {"fault", "none", "2", ""});
  passes(2, {"fault", "no_copy_f", "2", "gradients"});
  passes(2, {"fault", "bias_before_reduce", "2", "start forecast gradients"});
  passes(2, {"fault", "same_seed_shards", "2", "start "});
  passes(2, {"fault", "norm_eps_1e-5", "2", "forecast gradients"});
  passes(2, {"fault", "noncontiguous_reduce", "2", "forecast gradients"});
}
