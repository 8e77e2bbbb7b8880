// Groups of ranks, and what ranks know of each other.

#include "comm/comm_runs.h"
#include "support/catch.h"
#include "support/pairs.h"

using namespace isobar;
using namespace isobar::testing;

TEST_CASE("who waited before for something of the same name has not come to this one") {
  const RanksEnded ended = run(2, {"stale", "gloo"});
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.first == 1);
  CHECK_THAT(errors_of(ended, 0), says("for checkpoint") && says("Arrived: 0. Missing: 1, "));
}

TEST_CASE("a group says what it does where its world was told to, whenever that was") {
  passes(2, {"told", GENERATE("gloo", "ring")});
}

TEST_CASE("who stood still for longer than comm.timeout_s, as a clock that jumps says, goes on") {
  for (const Picks& c : pairs({{"gloo", "ring"}, {"payload", "control"}})) passes(2, {"jumped", c[0], c[1]});
}

TEST_CASE("processes that are stopped for longer than comm.timeout_s go on", "[.][nightly]") {
  for (const Picks& c : products({{"gloo", "ring"}, {"payload", "control"}}))
    passes(2, {"paused", c[0], c[1]});
}

TEST_CASE("a name may be used again, for other ranks too") {
  passes(3, {"same_name", GENERATE("gloo", "ring")});
}

TEST_CASE("who is no member of a group is refused in words, whatever it calls") {
  const RanksEnded ended = run(2, {"outside", "gloo"});
  INFO(said(ended));
  CHECK(ended.code == 0);
  const std::string& text = ended.ranks[1].output;
  std::size_t refused = 0;
  for (std::size_t at = 0; (at = text.find("not part of group first.none", at)) != std::string::npos; ++at)
    ++refused;
  CHECK(refused == 6);
}

TEST_CASE("a rank that cannot start a collective says so, and is the one that failed") {
  const std::string backend = GENERATE("gloo", "ring");
  const RanksEnded ended = run(2, {"no_start", backend});
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.first == 1);
  CHECK_THAT(errors_of(ended, 1), says("this rank cannot start collective 0: all_reduce sum f32[8] it: "));
  CHECK_THAT(errors_of(ended, 1), !says("consequence"));
  CHECK_THAT(errors_of(ended, 0), says("rank 1"));
}

TEST_CASE("all of a list of groups is compared") {
  const RanksEnded ended = run(2, {"many_groups", "gloo"});
  INFO(said(ended));
  CHECK(ended.code == 1);
  CHECK_THAT(errors_of(ended, ended.first), says("ranks do not do the same, and nothing was sent"));
  CHECK_THAT(errors_of(ended, ended.first), says("number 2: rank 0: [1]; rank 1: nothing"));
}

TEST_CASE("ranks work together along the axes of a mesh") { passes(4, {"mesh", GENERATE("gloo", "ring")}); }

TEST_CASE("ranks with other settings are refused before they connect") {
  RanksEnded ended = run(2, {"other_setting", "gloo", "backend", "ring"});
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(errors_of(ended, ended.first), says("ranks differ in their settings"));
  CHECK_THAT(errors_of(ended, ended.first), says("rank 0: comm.backend = gloo; rank 1: comm.backend = ring"));
  ended = run(2, {"other_setting", "gloo", "latency", "100"});
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(errors_of(ended, ended.first), says("rank 1: comm.link.latency_us = 100"));
  ended = run(2, {"other_setting", "gloo", "node_link", "10"});
  INFO(said(ended));
  CHECK_THAT(errors_of(ended, ended.first), says("rank 1: comm.node_link.gbit_per_s = 10"));
}

TEST_CASE("what another launch left in the folder is no news of this one") {
  const RanksEnded ended = run(2, {"old_pages", "gloo"});
  INFO(said(ended));
  CHECK_THAT(errors_of(ended, 0), says("waited 2") && says("No word from: 1."));
  CHECK_THAT(errors_of(ended, 0), !says("ended first"));
}

TEST_CASE("of ranks that have all arrived, the one whose process is stopped is named, not the network") {
  const std::string backend = GENERATE("gloo", "ring");
  const RanksEnded ended = run(2, {"stopped_inside", backend});
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK_THAT(errors_of(ended, 0), says("Arrived and not going on: 1, ") && says("its process is stopped"));
  CHECK_THAT(errors_of(ended, 0), !says("network"));
}
