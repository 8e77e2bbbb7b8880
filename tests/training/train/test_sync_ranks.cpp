// Gradients over ranks, in real processes: every way to average them against one process on the joint batch.

#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"

namespace isobar::test_sync_ranks {

using namespace isobar::testing;

namespace {

const std::vector<std::string> kBackends = {"gloo", "ring"};
const std::vector<std::string> kSyncs = {"buckets", "at_end", "per_parameter", "reducer"};

}  // namespace

TEST_CASE("2 and 4 ranks on the joint batch train as one process does, in one and two micro-batches") {
  for (const Picks& c : pairs({{"2", "4"}, kBackends, kSyncs, {"fused", "plain"}, {"1", "2"}})) {
    INFO(joined(c, " "));
    passes(std::stoi(c[0]), {"steps", c[1], c[2], c[3], c[4]});
  }
}

TEST_CASE("buckets that leave late are the joint batch too") {
  for (const Picks& c : pairs({kBackends, {"buckets", "reducer"}}))
    passes(2, {"steps", c[0], c[1], "plain", "1", "late"});
}

TEST_CASE("our buckets and libtorch's Reducer give the same gradients to the bit") {
  for (const std::string& backend : kBackends) passes(2, {"bits", backend});
}

TEST_CASE("a step has as many collectives as the plan says") {
  const Picks plans = {"0.25 1 9", "1 1 3", "25 1 2", "25 25 1"};  // MiB a bucket, of the first, collectives
  for (std::size_t i = 0; i < plans.size(); ++i) {
    INFO(plans[i]);
    const Picks plan = words_of(plans[i]);
    for (const std::string& backend : all_or_one(kBackends, i))
      passes(2, {"plan", backend, plan[0], plan[1], plan[2]});
  }
}

TEST_CASE("gradients are the same for every bucket size and order, as views and as copies") {
  for (const std::string& backend : kBackends) passes(2, {"cuts", backend});
}

TEST_CASE("in 16 bits all ranks skip a step when one of them overflows") {
  for (const Picks& c : pairs({kBackends, {"buckets", "reducer"}, {"fp16", "bf16"}}))
    passes(2, {"half", c[0], c[1], c[2]});
}

TEST_CASE("a training that goes on in a fresh layout gives the same bits") {
  const Picks kernels = {"own", "libtorch", "plain"};
  for (std::size_t i = 0; i < kernels.size(); ++i)
    for (const std::string& backend : all_or_one(kBackends, i)) passes(2, {"again", backend, kernels[i]});
}

TEST_CASE("mistakes of data parallel training do what they say") {
  for (const std::string& sync : kSyncs) {
    passes(2, {"fault", "gloo", sync, "sum_gradients"});
    passes(2, {"fault", "gloo", sync, "unequal_batch"});
  }
  passes(2, {"fault", "gloo", "buckets", "slow_rank"});
  passes(2, {"fault", "gloo", "buckets", "no_broadcast"});
}

TEST_CASE("buffers drift apart unless they are broadcast, and scores are weighted by samples") {
  for (const std::string& backend : kBackends) passes(4, {"replicas", backend});
}

TEST_CASE("exposed communication follows the bucket model on emulated links") {
  const std::vector<Picks> links = {{"50", "0.5"}, {"2000", "0.5"}, {"50", "0.25"}, {"1000", "0.1"}};
  for (const Picks& link : cases_of({"2000 0.5", "50 0.25"}, links))
    passes(2, {"overlap", "ring", link[0], link[1]});
}

}  // namespace isobar::test_sync_ranks
