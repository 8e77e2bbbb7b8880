// Who held a rank up: times of collectives and of standing still, set by hand.
#include "support/catch.h"
#include "train/sync_waits.h"

namespace isobar::test_sync_waits {

namespace {

SyncFigures waits(const std::vector<CollectiveTimes>& times, const std::vector<StoodStill>& stood) {
  SyncFigures out;
  add_waits(times, stood, out);
  return out;
}

}  // namespace

TEST_CASE("a rank waits for another from when it stands still until that one calls") {
  const std::vector<CollectiveTimes> one = {{.ready_us = 10, .begin_us = 60, .end_us = 80, .last_rank = 1}};
  CHECK(waits(one, {{20, 80}}).waited_us == 40);  // computed until 20, and the sum is no waiting for a rank
  CHECK(waits(one, {{70, 80}}).waited_us == 0);
  CHECK(waits(one, {{20, 30}, {40, 50}}).waited_us == 20);
  CHECK(waits(one, {}).waited_us == 50);  // from its call on
  CHECK(waits(one, {{20, 80}}).waited_for == 1);
}

TEST_CASE("waits in the middle of backward count, and those for the link do not") {
  // Two buckets of two messages: P of the first, P of the second, Q of the first, Q of the second.
  const std::vector<CollectiveTimes> times = {
      {.ready_us = 0, .begin_us = 30, .end_us = 50, .last_rank = 1},
      {.ready_us = 20, .begin_us = 50, .end_us = 70, .last_rank = 1},
      {.ready_us = 60, .begin_us = 90, .end_us = 95, .last_rank = 2},
      {.ready_us = 80, .begin_us = 100, .end_us = 120, .last_rank = 0}};
  const SyncFigures found = waits(times, {{20, 50}, {75, 120}});
  CHECK(found.waited_us == 10 + 15 + 5);  // 20 to 30, 75 to 90, 95 to 100
  CHECK(found.waited_for == 2);
}

TEST_CASE("nothing is filled in where it is not known who came when") {
  const SyncFigures found = waits({{.ready_us = 10, .begin_us = 60, .end_us = 80}}, {{20, 80}});
  CHECK(found.waited_us == 0);
  CHECK(found.waited_for == -1);
}

}  // namespace isobar::test_sync_waits
