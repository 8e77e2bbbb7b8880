// Tokens over ranks, in real processes, against one process that has all of them.
#include <ATen/ops/zeros.h>

#include "context/block_attention.h"
#include "core/text.h"
#include "model/attention_choice.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"
#include "support/says.h"

namespace isobar::test_context_ranks {

using namespace isobar::testing;

namespace {

/// `scenario` of so many ranks, with words for it: "3 way=ring fusion=plain".
void passes_with(const char* scenario, const std::string& line) {
  INFO(line);
  Picks words = words_of(line);
  const int ranks = std::stoi(words.front());
  words.front() = scenario;
  passes(ranks, words);
}

}  // namespace

TEST_CASE("each way of attention gives what one process gives, at the bytes of its formula") {
  for (const Picks& c : cases_of({"2 ring auto", "3 gloo auto", "4 ring math"},
                                 products({{"2", "3", "4"}, {"ring", "gloo"}, {"auto", "math"}})))
    passes(std::stoi(c[0]), {"ways", c[1], c[2]});
}

TEST_CASE("windows give what a mask of all tokens gives, at bytes that do not grow with the ranks") {
  for (const Picks& c : cases_of({"1 ring auto", "2 gloo auto", "3 ring math", "4 ring auto"},
                                 products({{"1", "2", "3", "4"}, {"ring", "gloo"}, {"auto", "math"}})))
    passes(std::stoi(c[0]), {"windows", c[1], c[2]});
}

TEST_CASE("a model whose tokens are shared forecasts and learns as one process does, to the last gradient") {
  for (const Picks& c :
       cases_of({"2 way=gather tokens=odd fusion=fused", "3 way=gather_again tokens=odd fusion=plain",
                 "4 way=ring tokens=odd fusion=fused", "3 way=a2a tokens=odd fusion=plain",
                 "4 way=a2a tokens=even fusion=fused", "3 window=5 tokens=odd fusion=fused"},
                products({{"2", "3", "4"},
                          {"way=gather", "way=gather_again", "way=ring", "way=a2a", "window=5"},
                          {"tokens=odd", "tokens=even"},
                          {"fusion=fused", "fusion=plain"}})))
    passes_with("equal", joined(c, " "));
}

TEST_CASE("with layers split over ranks too, and cut by depth") {
  for (const char* const line :
       {"4 tp=2 way=a2a tokens=odd", "4 tp=2 sp=1 way=ring tokens=odd", "4 tp=2 way=gather window=3",
        "2 way=ring stages=2", "3 way=gather stages=2 fusion=plain"})
    passes_with("equal", line);
}

TEST_CASE("with states that models side by side share out") {
  for (const char* const line : {"4 zero=1 way=gather", "4 zero=0 way=ring fusion=plain", "2 zero=1 way=a2a"})
    passes_with("states", line);
}

TEST_CASE("blocks that are computed again give the same gradients, to the bit") {
  for (const char* const line :
       {"2 way=gather kind=block", "3 way=ring kind=block every=2", "2 way=gather_again kind=selective",
        "2 way=a2a kind=cheap fusion=plain", "2 window=4 kind=block", "2 way=ring kind=selective"})
    passes_with("again", line);
}

TEST_CASE("in 16 bits they are within its rounding of one process") {
  for (const char* const line :
       {"2 way=gather backend=gloo", "3 way=ring", "2 way=gather_again", "4 way=a2a", "3 window=6"})
    passes_with("half", line);
}

TEST_CASE("mistakes of shared tokens show where they are made") {
  passes_with("fault", "2 fault=none wrong=");
  passes_with("fault", "2 fault=no_cp_reduce wrong=_blocks");
  passes_with("fault", "3 fault=reduce_all wrong=_positions-c-times_head-c-times");
  passes_with("fault", "3 fault=assume_even wrong=forecast_blocks_positions_head");
  passes_with("fault", "3 fault=assume_even way=ring wrong=forecast_blocks_positions_head");
  passes_with("fault", "3 fault=assume_even way=a2a wrong=forecast_blocks_positions_head");
  passes_with("fault", "4 fault=assume_even tokens=even wrong=");
}

TEST_CASE("tokens and heads that cannot be shared out are refused with what would fit") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"row=2", "2 tokens cannot be shared out over 3 ranks"},
      {"row=8 window=3", "model.window = 3 reaches beyond a neighbour: a rank has 2 tokens"},
      {"heads=4 way=a2a", "4 heads cannot be shared out over 3 ranks"}};
  for (const auto& [words, text] : cases) {
    Picks scenario = words_of(words);
    scenario.insert(scenario.begin(), "refused");
    const RanksEnded ended = run_scenario(3, scenario);
    INFO(words << "\n" << said(ended));
    CHECK(ended.code == 2);
    CHECK_THAT(ended.ranks[static_cast<std::size_t>(ended.first)].errors, says(text));
  }
}

TEST_CASE("a form of attention that no block of keys can take here is refused by its key") {
  const at::Tensor q = at::zeros({1, 2, 5, 8}), k = at::zeros({1, 2, 7, 8});
  const AttentionGuard only(AttentionKind::efficient);  // a CPU has none
  CHECK_THAT(error_of([&] { block_kind(q, k, k); }),
             says("5 queries over 7 keys of 8 values") && says("model.attention"));
}

}  // namespace isobar::test_context_ranks
