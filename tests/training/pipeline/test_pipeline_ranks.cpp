// Pipelines in real processes, against one process that has the whole model.
#include <cstdio>

#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"
#include "support/says.h"

namespace isobar::test_pipeline_ranks {

using namespace isobar::testing;

namespace {

/// All that 2 or 4 ranks can do with 1, 4 and 8 micro-batches; each adds them up in their order.
Picks valid(int ranks) {
  Picks out;
  for (const int parts : {1, 4, 8}) {
    for (const std::string form : {"gpipe", "1f1b", "zb_h1", "zb_v,chunks=2", "interleaved,chunks=2"})
      if (parts % ranks == 0 || form.find("interleaved") == std::string::npos)
        out.push_back("form=" + form + ",m=" + std::to_string(parts) + ",bits");
  }
  if (ranks == 2) out.push_back("form=interleaved,chunks=4,m=8,bits");
  return out;
}

bool has_all() { return all_or_one({"one", "another"}, 0).size() > 1; }

void passes_cases(int ranks, const Picks& settings, const Picks& cases) {
  Picks words = {"equal"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.push_back("--");
  words.insert(words.end(), cases.begin(), cases.end());
  INFO(joined(words, " "));
  passes(ranks, words);
  for (const std::string& one : cases)
    std::printf("%d ranks, %s: %s\n", ranks, joined(settings, " ").c_str(), one.c_str());
}

}  // namespace

TEST_CASE("every valid pipeline gives the loss and the gradients of one process, to the bit") {
  const Picks two = {"m=4,bits", "form=gpipe,m=4,bits", "form=zb_h1,m=8,bits", "form=zb_v,chunks=2,m=1,bits",
                     "form=interleaved,chunks=2,m=4,bits"};
  const Picks four = {"m=8,bits", "form=zb_h1,m=4,bits", "form=zb_v,chunks=2,m=4,bits",
                      "form=interleaved,chunks=2,m=8,bits"};
  passes_cases(2, {"pp=2"}, has_all() ? valid(2) : two);
  passes_cases(4, {"pp=4"}, has_all() ? valid(4) : four);
  if (has_all())
    passes_cases(3, {"pp=3"},
                 {"m=5,bits", "form=interleaved,chunks=2,m=6,bits", "form=zb_v,chunks=2,m=5,bits"});
}

TEST_CASE("ten steps of gradient descent") {
  if (!has_all()) return;
  passes_cases(2, {"pp=2", "steps=10"}, valid(2));
  passes_cases(4, {"pp=4", "steps=10"}, valid(4));
  passes_cases(4, {"pp=2", "tp=2", "steps=10"}, {"m=4,bits", "form=zb_h1,m=4,bits"});
  passes_cases(2, {"pp=2", "steps=10"}, {"m=4,amp=bf16,bits", "form=zb_h1,m=4,amp=bf16,bits"});
}

TEST_CASE("over Gloo and an emulated link, where collectives are compared, but messages") {
  passes_cases(2, {"pp=2", "backend=gloo", "check=1", "latency=100"},
               {"form=1f1b,m=4,bits", "form=zb_h1,m=4,bits"});
}

TEST_CASE("in 16 bits, computed again, cut unevenly, and without fusions") {
  const Picks some = {"form=zb_h1,m=4,amp=bf16,bits", "m=4,checkpoint=block,every=3,amp=bf16,bits",
                      "m=4,blocks=71,bits", "form=zb_h1,m=4,fusion=plain"};
  const Picks all = {"m=4,amp=bf16,bits",
                     "m=4,amp=fp16,bits",
                     "form=zb_h1,m=4,amp=bf16,bits",
                     "m=4,checkpoint=block,bits",
                     "m=4,checkpoint=block,every=3,amp=bf16,bits",
                     "m=4,checkpoint=cheap,bits",
                     "m=4,checkpoint=selective,bits",
                     "m=4,blocks=71,bits",
                     "form=zb_h1,m=4,blocks=17,bits",
                     "m=4,fusion=plain",
                     "form=zb_h1,m=4,fusion=plain"};
  passes_cases(2, {"pp=2"}, has_all() ? all : some);
}

TEST_CASE("stages whose layers are split, too") {
  const Picks cases = {"m=4,bits", "form=zb_h1,m=4,bits", "m=4,fusion=plain"};
  if (has_all()) passes_cases(4, {"pp=2", "tp=2"}, cases);
  if (has_all()) passes_cases(2, {"tp=2"}, cases);  // no idle time: what is not busy waited for its layers
  passes_cases(4, {"pp=2", "tp=2", "tokens=1"}, cases);
}

TEST_CASE("schedules drawn at random, from files: stages lie anywhere, and messages cross") {
  passes(2, {"drawn", "1", "1", "pp=2", "m=4"});
  passes(2, {"drawn", "2", "2", "pp=2", "m=5", "backend=gloo"});
  passes(4, {"drawn", "5", "2", "pp=4", "m=8"});
}

TEST_CASE("a stage that ends in the middle of a step reports its own error, and the others its end") {
  for (const std::string& backend : all_or_one({"gloo", "ring"}, 0)) {
    const RanksEnded ended = run_scenario(3, {"leaves", backend});
    INFO(backend << "\n" << said(ended));
    CHECK_FALSE(ended.timed_out);
    CHECK_THAT(ended.ranks[1].errors, says("rank 1 has a reason"));
    for (const std::size_t other : {std::size_t{0}, std::size_t{2}})
      CHECK_THAT(ended.ranks[other].errors, says("rank 1"));
  }
}

TEST_CASE("a stage whose graph is cut sends no zeros") {
  const RanksEnded ended = run_scenario(2, {"cut"});
  INFO(said(ended));
  CHECK(ended.code == 1);
  CHECK_THAT(ended.ranks[1].errors, says("no gradient comes to the input of stage 1") && says("1B0"));
}

TEST_CASE("a loss that is not divided makes gradients m times as large") { passes(2, {"no_scale", "4"}); }

TEST_CASE("sends that wait for their receiver end at the deadline, and both name the other") {
  const RanksEnded ended = run_scenario(2, {"deadlock"});
  INFO(said(ended));
  CHECK(ended.code == 1);
  // Whoever comes to it first; the other may end because of that one.
  const std::string first = "broadcast f32[288] from rank 0 pp forward",
                    second = "broadcast f32[288] from rank 0 pp backward";
  CHECK_THAT(
      ended.ranks[0].errors + ended.ranks[1].errors,
      (says("waited 2 s for collective 2: " + first) && says("where: rank 0, step 1, group pp.0/forward.0") &&
       says("Missing: 1, step 1, group pp.0/backward.1, collective 0: " + second)) ||
          (says("waited 2 s for collective 0: " + second) &&
           says("where: rank 1, step 1, group pp.0/backward.1") &&
           says("Missing: 0, step 1, group pp.0/forward.0, collective 2: " + first)));
}

}  // namespace isobar::test_pipeline_ranks
