// Gradients over ranks, in real processes: every way to average them against one process on the joint batch.

#include "support/catch.h"
#include "support/rank_scenarios.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

const std::vector<std::string> kBackends = {"gloo", "ring"};
const std::vector<std::string> kSyncs = {"buckets", "at_end", "per_parameter", "reducer"};

void passes(int ranks, const std::vector<std::string>& words) {
  const RanksEnded ended = run_scenario("sync_scenarios", ranks, words, /*deadline_s=*/120);
  INFO(said(ended));
  CHECK(ended.code == 0);
  CHECK_FALSE(ended.timed_out);
}

}  // namespace

TEST_CASE("2 and 4 ranks on the joint batch train as one process does, whatever averages") {
  for (const std::string& backend : kBackends) {
    for (const std::string& sync : kSyncs) {
      INFO(backend << ", " << sync);
      passes(2, {"ten_steps", backend, sync, "fused", "1"});
      passes(4, {"ten_steps", backend, sync, "plain", "1"});
    }
  }
}

TEST_CASE("two micro-batches and one exchange are the joint batch too, and so are buckets that leave late") {
  for (const std::string& backend : kBackends) {
    for (const std::string& sync : kSyncs) {
      INFO(backend << ", " << sync);
      passes(2, {"ten_steps", backend, sync, "fused", "2"});
    }
    passes(2, {"ten_steps", backend, "buckets", "plain", "1", "late"});
    passes(2, {"ten_steps", backend, "reducer", "plain", "1", "late"});
  }
}

TEST_CASE("our buckets and libtorch's Reducer give the same gradients to the bit") {
  for (const std::string& backend : kBackends) passes(2, {"bits", backend});
}

TEST_CASE("a step has as many collectives as the plan says") {
  const std::vector<std::array<std::string, 3>> cases = {
      {"0.25", "1", "9"}, {"1", "1", "3"}, {"25", "1", "2"}, {"25", "25", "1"}};
  for (const std::string& backend : kBackends) {
    for (const auto& [bucket_mb, first_mb, calls] : cases) {
      INFO(bucket_mb << " MiB, the first " << first_mb);
      passes(2, {"plan", backend, bucket_mb, first_mb, calls});
    }
  }
}

TEST_CASE("in 16 bits all ranks skip a step when one of them overflows") {
  for (const std::string& backend : kBackends) {
    for (const char* const mode : {"fp16", "bf16"}) {
      for (const char* const sync : {"buckets", "reducer"}) passes(2, {"half", backend, sync, mode});
    }
  }
}

TEST_CASE("a training that goes on in a fresh layout gives the same bits") {
  for (const std::string& backend : kBackends) {
    for (const char* const kernel : {"own", "libtorch", "plain"}) passes(2, {"again", backend, kernel});
  }
}

TEST_CASE("mistakes of data parallel training do what they say") {
  for (const std::string& sync : kSyncs) {
    passes(2, {"fault", "gloo", sync, "sum_gradients"});
    passes(2, {"fault", "gloo", sync, "unequal_batch"});
  }
  passes(2, {"fault", "gloo", "buckets", "slow_rank"});
  passes(2, {"fault", "gloo", "buckets", "no_broadcast"});
}

TEST_CASE("buffers are broadcast by type, and scores are weighted by samples") {
  for (const std::string& backend : kBackends) passes(4, {"replicas", backend});
}

TEST_CASE("exposed communication follows the bucket model on four emulated links") {
  const std::vector<std::array<std::string, 2>> links = {
      {"50", "0.5"}, {"2000", "0.5"}, {"50", "0.25"}, {"1000", "0.1"}};
  constexpr int kTries = 6;  // under the same rule: other programs may take the processors for a moment
  for (const auto& [latency_us, gbit_per_s] : links) {
    INFO(latency_us << " us, " << gbit_per_s << " Gb/s");
    bool held = false;
    std::string last;
    for (int i = 0; i < kTries && !held; ++i) {
      const RanksEnded ended =
          run_scenario("sync_scenarios", 2, {"overlap", "ring", latency_us, gbit_per_s}, /*deadline_s=*/60);
      held = ended.code == 0 && !ended.timed_out;
      last = said(ended);
    }
    INFO(last);
    CHECK(held);
  }
}
