#include <algorithm>
#include <numeric>
#include <set>

#include "data/index_rule.h"
#include "samples/batch_order.h"
#include "samples/sampler.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_fault.h"

using namespace isobar;

TEST_CASE("sample to record follows the tutorial's rule") {
  const std::int64_t year = 1460;
  // Record 0 is never an input for dt = 1; samples 0, 1 and the last of a year are the same pair.
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, year - 1}) {
    CHECK(place_sample(i, year, 1).file == 0);
    CHECK(place_sample(i, year, 1).input == 1);
  }
  CHECK(place_sample(2, year, 1).input == 2);
  CHECK(place_sample(year - 2, year, 1).input == year - 2);
  CHECK(place_sample(year, year, 1).file == 1);
  CHECK(place_sample(3 * year + 700, year, 1).file == 3);
  CHECK(place_sample(3 * year + 700, year, 1).input == 700);
}

TEST_CASE("input and target always lie within one year") {
  for (const std::int64_t dt : {1, 2, 3, 4}) {
    for (std::int64_t i = 0; i < 36; ++i) {
      const SamplePlace place = place_sample(i, 12, dt);
      // An independent form of the rule: wrap within the year, then step over the first dt records.
      const std::int64_t k = (i - i / 12 * 12) % (12 - dt);
      CHECK(place.input == (k >= dt ? k : k + dt));
      CHECK(place.input >= dt);
      CHECK(place.input + dt < 12);
    }
  }
}

TEST_CASE("an epoch is a permutation that seed and epoch decide") {
  const Sampler sampler(1000, true, 333);
  std::vector<std::int64_t> order = sampler.order(0);
  CHECK(order == Sampler(1000, true, 333).order(0));
  CHECK(order != sampler.order(1));
  CHECK(order != Sampler(1000, true, 334).order(0));
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> plain(1000);
  std::iota(plain.begin(), plain.end(), 0);
  CHECK(order == plain);
  CHECK(Sampler(1000, false, 333).order(5) == plain);
}

TEST_CASE("every index comes first about equally often") {
  std::vector<int> first(8);
  for (std::int64_t epoch = 0; epoch < 8000; ++epoch) {
    ++first[static_cast<std::size_t>(Sampler(8, true, 1).order(epoch).front())];
  }
  for (const int count : first) CHECK(std::abs(count - 1000) < 150);  // 5 standard deviations
}

TEST_CASE("shards step together through the joint batch of one process") {
  const std::vector<std::int64_t> all = Sampler(103, true, 7).order(2);
  const std::int64_t shards = 4;
  std::set<std::int64_t> seen;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    const Sampler sampler(103, true, 7, shard, shards);
    const std::vector<std::int64_t> mine = sampler.order(2);
    CHECK(static_cast<std::int64_t>(mine.size()) == sampler.shard_size());
    CHECK(sampler.shard_size() == 25);  // as many for each, or some ranks would make a step more
    for (std::size_t n = 0; n < mine.size(); ++n)
      CHECK(mine[n] == all[n * 4 + static_cast<std::size_t>(shard)]);
    seen.insert(mine.begin(), mine.end());
  }
  CHECK(seen == std::set<std::int64_t>(all.begin(), all.begin() + 100));
}

TEST_CASE("contiguous shards are stretches of the order that do not overlap") {
  const std::vector<std::int64_t> all = Sampler(103, true, 7).order(2);
  std::set<std::int64_t> seen;
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    const std::vector<std::int64_t> mine = Sampler(103, true, 7, shard, 4, ShardForm::contiguous).order(2);
    const auto first = all.begin() + shard * 103 / 4;
    CHECK(mine == std::vector<std::int64_t>(first, first + 25));
    seen.insert(mine.begin(), mine.end());
  }
  CHECK(seen.size() == 100);
}

TEST_CASE("the samplers' mistakes: one shard for all, one order for all epochs") {
  const auto order = [](Fault fault, std::int64_t shard, std::int64_t epoch) {
    const MadeFault made({.fault = fault});
    return Sampler(40, true, 7, shard, 4).order(epoch);
  };
  constexpr Fault right = Fault::none, same_shard = Fault::same_shard, no_set_epoch = Fault::no_set_epoch;
  CHECK(order(same_shard, 3, 1) == order(right, 0, 1));
  CHECK(order(same_shard, 3, 1) != order(same_shard, 3, 0));
  CHECK(order(no_set_epoch, 3, 1) == order(right, 3, 0));
  CHECK(order(no_set_epoch, 3, 1) != order(no_set_epoch, 2, 1));
  CHECK(order(right, 3, 1) != order(right, 3, 0));
  const MadeFault made({.fault = same_shard});
  CHECK(Sampler::in_order(40, 3, 4).order(0).front() == 3);  // scores are right all the same
}

TEST_CASE("an epoch has whole steps of several batches each") {
  const Sampler sampler(23, true, 9);
  CHECK(BatchOrder(sampler, 2).steps_per_epoch() == 11);
  CHECK(BatchOrder(sampler, 2, 4).steps_per_epoch() == 8);
  CHECK(BatchOrder(sampler, 2, 4).samples(8) == BatchOrder(sampler, 2).samples(11));  // the next epoch begins
  CHECK_THAT(error_of([&] { BatchOrder(sampler, 6, 4); }), says("batch of 24") && says("23 samples"));
}
