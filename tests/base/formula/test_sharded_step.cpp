// Collectives of shared states beside computing, against sums written out by hand.
#include "formula/sharded_step.h"
#include "support/catch.h"

using namespace isobar;

namespace isobar::test_sharded_step {
namespace {

/// Four units of 400 bytes; 400 us forward, 800 us backward; 2 ranks, 1 byte a microsecond: half of a unit
/// takes 200 us, and there is no latency.
ShardedWork work(std::int64_t stage) {
  return {.shares = {.stage = stage, .ranks = 2},
          .inside = {.latency_us = 0, .bytes_per_us = 1},
          .between = {},
          .unit_bytes = {400, 400, 400, 400},
          .bucket_bytes = 800,
          .forward_us = 400,
          .backward_us = 800};
}

}  // namespace

TEST_CASE("one rank, or a link without limits, adds nothing") {
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    ShardedWork alone = work(stage);
    alone.shares.ranks = 1;
    ShardedWork free = work(stage);
    free.inside.bytes_per_us = 0;
    for (const ShardedWork& one : {alone, free}) {
      const ShardedTimes times = sharded_times(one);
      CHECK(times.forward_us == 400);
      CHECK(times.backward_us == 800);
      CHECK(times.comm_us == 0);
      CHECK(times.comm_total_us == 0);
    }
  }
}

TEST_CASE("sums leave bucket by bucket behind backward, weights behind the update") {
  // Two buckets of 800 bytes, 400 us each, ready at 400 and 800 of backward: done at 800 and 1200. Then 800
  // us.
  const ShardedTimes times = sharded_times(work(2));
  CHECK(times.backward_us == 800);
  CHECK(times.comm_us == 400 + 800);
  CHECK(times.sums_us == 400);
  CHECK(times.sums_total_us == 800);
  CHECK(times.comm_total_us == 1600);
  ShardedWork half = work(1);
  half.shares.gathers_16 = true;
  CHECK(sharded_times(half).comm_us == 400 + 400);
  // Stage 0 gathers what it summed in the bucket, and nothing behind the update.
  CHECK(sharded_times(work(0)).comm_us == 1200);
  CHECK(sharded_times(work(0)).comm_total_us == 1600);
}

TEST_CASE("stage 3 waits for weights where a gather takes longer than a unit's computing") {
  // Forward: units take 100, gathers 200, of which two start at once: units begin at 200, 400, 600, 800.
  const ShardedTimes times = sharded_times(work(3));
  CHECK(times.forward_us == 900);
  CHECK(times.comm_total_us == 4 * 200 * 3);
  ShardedWork kept = work(3);
  kept.shares.reshards = false;
  CHECK(sharded_times(kept).forward_us == 900);
  CHECK(sharded_times(kept).backward_us == 800);  // weights are there
  CHECK(sharded_times(kept).comm_total_us == 4 * 200 * 2);
  ShardedWork quick = work(3);
  quick.inside.bytes_per_us = 4;  // 50 us: the first gather alone shows
  CHECK(sharded_times(quick).forward_us == 450);
  quick.prefetch = 0;  // and now each
  CHECK(sharded_times(quick).forward_us == 600);
}

TEST_CASE("groups sum their shares over the slower link") {
  ShardedWork nested = work(2);
  nested.shares.copies = 2;
  nested.between = {.latency_us = 0, .bytes_per_us = 1};
  // Each bucket's share of 400 bytes: an all-reduce over two groups sends all of it.
  CHECK(sharded_times(nested).comm_total_us == 1600 + 2 * 400);
}

}  // namespace isobar::test_sharded_step
