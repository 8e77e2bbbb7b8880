// What is said of ranks that do not come when a group is made.
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "comm/c10d_transport.h"
#include "comm/memory_meeting.h"
#include "comm/rank_words.h"
#include "support/catch.h"
#include "support/errors.h"
// below all
#include "support/claim_macros.h"

using namespace isobar;

TEST_CASE("who does not come to a group is named as the world knows it") {
  const GroupMeeting group{c10::make_intrusive<c10d::HashStore>(), 0, {4, 7}, 0.2};
  CHECK_THAT(failure_of([&] { exchange_texts(group, "devices", "mine", "GPUs of the ranks"); }),
             says("rank 7 did not come within 0.2 s") && says("where: GPUs of the ranks"));
  CHECK_THAT(failure_of([&] { meet_in_memory(group, "arrivals", 4096); }),
             says("rank 7 did not come within 0.2 s") && says("where: memory between ranks"));
}

TEST_CASE("ranks that gloo cannot connect are told so in words") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const std::string text =
      failure_of([&] { make_gloo_transport(store, 0, 2, "pair", 0.5, /*local=*/true, ""); });
  CHECK_THAT(text, says("gloo cannot connect this rank with the others: ") && says("where: pair") &&
                       says("comm.interface"));
}

TEST_CASE("the first line in which texts differ is found, and a text that ends before it") {
  CHECK_FALSE(first_difference({"a\nb", "a\nb"}, {0, 1}));
  const auto differs = first_difference({"a\nb", "a\nc", "a"}, {2, 5, 6});
  REQUIRE(differs);
  CHECK(differs->line == 2);
  CHECK(sides_text(differs->sides) == "rank 2: b; rank 5: c; rank 6: nothing");
}
