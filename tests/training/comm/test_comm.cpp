#include "comm/comm_runs.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

const Picks kBackends = {"gloo", "ring"};

}  // namespace

TEST_CASE("an all-reduce gives every rank the sum") {
  for (const char* const backend : {"gloo", "ring", "auto"}) passes(4, {"sums", backend});
  for (const std::string& backend : all_or_one({"gloo", "ring", "auto"}, 0)) passes(1, {"sums", backend});
  for (const std::string& backend : all_or_one({"gloo", "ring", "auto"}, 1)) passes(2, {"sums", backend});
}

TEST_CASE("every collective carries every type") {
  for (const std::string& backend : kBackends) passes(4, {"types", backend});
  for (const std::string& backend : all_or_one(kBackends, 1)) passes(2, {"types", backend});
}

TEST_CASE("an all-to-all brings each rank what each has for it, in sizes that differ and none") {
  for (const std::string& backend : kBackends) passes(4, {"to_each", backend});
  for (const std::string& backend : kBackends) passes(3, {"to_each", backend, "odd"});
  for (const std::string& backend : all_or_one({"gloo", "ring", "auto"}, 2)) passes(1, {"to_each", backend});
  for (const std::string& backend : all_or_one(kBackends, 1)) passes(2, {"to_each", backend});
}

TEST_CASE("all ranks hold the same bits after a mean, in 16 bits too") {
  for (const std::string& backend : kBackends) passes(4, {"same_bits", backend});
  for (const std::string& backend : all_or_one(kBackends, 0)) passes(2, {"same_bits", backend});
}

TEST_CASE("forty collectives may be under way at once") {
  for (const std::string& backend : kBackends) passes(4, {"many", backend});
}

TEST_CASE("texts, numbers and maxima reach all ranks, in any length") {
  for (const int ranks : {1, 4}) passes(ranks, {"texts", "gloo"});
}

TEST_CASE("ranks that differ in a text are told the first line") {
  const RanksEnded ended = run(4, {"texts", "gloo", "odd"});
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(errors_of(ended, ended.first),
             says("ranks differ in their parameters, line 2: ranks 0, 2, 3: b [4]; rank 1: b [5]"));
}

TEST_CASE("groups talk among themselves, and refuse who is not in them") {
  const RanksEnded ended = run(4, {"groups", GENERATE("gloo", "ring")});
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_THAT(ended.ranks[0].output, says("this rank is not part of group last.none"));
}

TEST_CASE("what a transport would misread is refused in words") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"type", "its type is Bool"},
      {"empty", "it is empty"},
      {"mean", "whole numbers have no mean"},
      {"root", "there is no rank 9"},
      {"gaps", "it has gaps in memory"},
      {"size", "4 values of each of 2 ranks are not 4"},
      {"flat", "a tensor of 2 dimensions is not flat"},
      {"counts", "1 counts for 2 ranks"},
      {"negative", "-1 elements for a rank"},
      {"sum", "counts of 3 elements, of a tensor of 4"},
      {"own", "1 elements for this rank itself, which wants 2"},
      {"mixed", "input and output differ in type"}};
  for (const auto& [which, words] : cases) {
    const RanksEnded ended = run(2, {"refused", "gloo", which});
    INFO(which << "\n" << said(ended));
    CHECK(ended.code == 1);
    CHECK_THAT(errors_of(ended, ended.first), says("this cannot be sent: " + words));
  }
}

TEST_CASE("ranks that do not do the same are told so before anything is sent") {
  const std::string both = "ranks do not do the same, and nothing was sent: ";
  const std::vector<std::vector<std::string>> cases = {
      {"count", "rank 0: collective 0: all_reduce sum f32[1024] bucket 3", "f32[1023] bucket 3"},
      {"type", "f32[1024] bucket 3", "rank 1: collective 0: all_reduce sum f64[1024] bucket 3"},
      {"op", "all_reduce sum f32[1024] bucket 3", "broadcast f32[1024] from rank 0 bucket 3"},
      {"order", "bucket 3", "bucket 4"},
      {"group", "groups pair, number 1: rank 0: [0, 1]", "rank 1: [1, 0]"},
      {"extra", "f32[1024] bucket 3", "rank 1: collective 0: all_reduce sum f32[8] extra"},
      {"sends", "collective 0: all_to_all f32 it", "rank 0 sends 4 elements to rank 1, which expects 6"}};
  for (const std::vector<std::string>& words : cases) {
    const RanksEnded ended = run(2, {"mutated", "gloo", words[0]});
    INFO(words[0] << "\n" << said(ended));
    CHECK(ended.code == 1);
    for (const std::string& part : {both, words[1], words[2]})
      CHECK_THAT(errors_of(ended, ended.first), says(part));
  }
}

TEST_CASE("the faults of Comm are found in the first steps") {
  const std::vector<std::vector<std::string>> cases = {
      {"other_shape", "rank 1: collective", "f32[1023] bucket 0"},
      {"other_order", "rank 0: collective", "bucket 1"},
      {"extra_collective", "rank 1: collective", "f32[64] extra"}};
  for (const std::vector<std::string>& words : cases) {
    const RanksEnded ended = run(2, {"faulty", "gloo", words[0]});
    INFO(words[0] << "\n" << said(ended));
    CHECK(ended.code == 1);
    for (const std::string& part : {words[1], words[2], std::string("step 3")})
      CHECK_THAT(errors_of(ended, ended.first), says(part));
  }
}

TEST_CASE("who does not come is named, with what it does") {
  const Picks c = GENERATE(from_range(pairs(
      {{"2", "4"}, kBackends, {"payload sleeps", "payload stopped", "control sleeps", "async stopped"}})));
  const std::string place = words_of(c[2])[0], how = words_of(c[2])[1];
  const RanksEnded ended = run(std::stoi(c[0]), {"missing", c[1], how, place});
  const bool all = c[0] == "4";
  INFO(joined(c, " ") << "\n" << said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.ranks[0].code == 1);
  const std::string& text = errors_of(ended, 0);
  CHECK_THAT(text, says("waited 2"));
  CHECK_THAT(text, says(place == "control" ? "the end of it" : "all_reduce sum f32[65536] bucket 3"));
  CHECK_THAT(text, says(all ? "Arrived: 0, 2, 3. Missing: 1, " : "Arrived: 0. Missing: 1, "));
  if (how == "stopped") CHECK_THAT(text, says("its process is stopped"));
}

TEST_CASE("all that wait name the one that stands still, whoever gave up first") {
  const Picks c = GENERATE(from_range(pairs({kBackends, {"unchecked", "subgroup"}})));
  const RanksEnded ended = run(4, {"missing", c[0], "stopped", c[1]});
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.first == 1);
  for (const int rank : {0, 2, 3}) {
    CHECK_THAT(errors_of(ended, rank), says("error: waited ") && says("all_reduce sum f32[65536] bucket 3"));
    CHECK_THAT(errors_of(ended, rank), says("Missing: 1, ") && says("its process is stopped"));
  }
}

TEST_CASE("a rank that is gone is named as the one that ended first") {
  const Picks c = GENERATE(from_range(
      pairs({{"2", "4"}, kBackends, {"payload", "control", "async"}, {"killed", "throws", "leaves"}})));
  const RanksEnded ended = run(std::stoi(c[0]), {"missing", c[1], c[3], c[2]});
  INFO(joined(c, " ") << "\n" << said(ended));
  CHECK_FALSE(ended.timed_out);
  if (c[3] != "leaves") CHECK(ended.first == 1);
  const std::string& text = errors_of(ended, 0);
  CHECK_THAT(text, says("rank 1 ended first"));
  CHECK_THAT(text, says("this is a consequence, not the cause: see the output of rank 1"));
  CHECK_THAT(text, !says("pair.cc"));
}

TEST_CASE("replicas that differ in one bit are found, with the tensor and the odd rank") {
  const int ranks = GENERATE(2, 4);
  passes(ranks, {"replicas", "gloo", "equal"});
  const RanksEnded ended = run(ranks, {"replicas", "gloo", "flipped"});
  INFO(said(ended));
  CHECK(ended.code == 1);
  const std::string& text = errors_of(ended, ended.first);
  CHECK_THAT(text, says("the replicas are no longer equal in layer1"));
  CHECK((text.find("rank 1 is the odd one") != std::string::npos) == (ranks > 2));
}

TEST_CASE("a probe measures in little time, and all ranks know the same") {
  for (const std::string& backend : kBackends) passes(4, {"probe", backend});
}

TEST_CASE("a rank knows who called a collective last, and when all were there") {
  for (const std::string& backend : kBackends) passes(4, {"last_rank", backend});
}

TEST_CASE("a backend that cannot be had is refused with the ones that can") {
  const RanksEnded ended = run(2, {"sums", "nccl"});
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(errors_of(ended, ended.first), says("nccl joins CUDA devices, and this runs on a CPU"));
  CHECK_THAT(errors_of(ended, ended.first), says("gloo or ring"));
}
