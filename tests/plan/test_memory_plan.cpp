// What a configuration takes of memory, and what would take less.
#include <catch2/catch.hpp>

#include "plan/memory_plan.h"
#include "support/errors.h"

using namespace isobar;

namespace {

constexpr std::uint64_t k40GiB = std::uint64_t{40} << 30;
const MemoryFacts kHalf{.on_cuda = true, .value_bytes = 2};

/// The preset mp on `ranks` ranks.
Config mp(std::int64_t ranks, std::int64_t tp, std::int64_t batch = 64) {
  Config out;
  out.model.embed = 1024;
  out.train.global_batch = batch;
  out.run.ranks = ranks;
  out.mesh.tp = tp;
  out.loader.kind = "gpu";
  return out;
}

}  // namespace

TEST_CASE("every change that is named fits, divides what it must, and is as small as can be") {
  const Config config = mp(1, 1);
  for (const MemoryFacts& facts : {kHalf, MemoryFacts{}}) {
    const std::vector<MemoryFit> fits = what_would_fit(config, facts, k40GiB);
    REQUIRE(fits.size() >= 2);
    CHECK_THAT(fits.front().change, says("train.accumulate="));
    CHECK_THAT(fits.back().change, says("--ranks") && says("mesh.tp="));
    for (const MemoryFit& fit : fits) CHECK(fit.plan.total() <= k40GiB);
  }
  // One pass fewer, or one rank fewer of those that divide the batch, does not.
  CHECK(what_would_fit(config, {}, k40GiB).front().change == "--set train.accumulate=8");
  Config fewer = config;
  fewer.train.accumulate = 4;
  CHECK(plan_memory(fewer, {}).total() > k40GiB);
  CHECK(plan_memory(mp(4, 1), {}).total() > k40GiB);
  CHECK(plan_memory(mp(8, 1), {}).total() <= k40GiB);
}

TEST_CASE("what is split over ranks shrinks, what is whole stays") {
  const MemoryPlan one = plan_memory(mp(1, 1, 16), kHalf), four = plan_memory(mp(4, 4, 16), kHalf);
  CHECK(four.activations < one.activations);
  CHECK(four.activations > one.activations / 4);
  CHECK(four.weights > one.weights / 4);
  CHECK(four.batches == one.batches);  // all ranks of a model see the same samples
  CHECK(plan_memory(mp(4, 1, 64), kHalf).activations == one.activations);
}

TEST_CASE("N x N matrices are counted where attention writes them, by the heads of a rank") {
  MemoryFacts facts = kHalf;
  CHECK(plan_memory(mp(1, 1, 16), facts).attention == 0);
  facts.writes_attention = true;
  const std::uint64_t whole = std::uint64_t{16} * 12 * 8 * 4050 * 4050 * 4;
  CHECK(plan_memory(mp(1, 1, 16), facts).attention == whole);
  CHECK(plan_memory(mp(2, 2, 16), facts).attention == whole / 2);
}

TEST_CASE("a cap is kept, or refused by category with what fits") {
  Config config = mp(1, 1);
  CHECK_NOTHROW(check_memory_cap(config, kHalf));  // there is none
  config.run.memory_cap = "500GiB";
  CHECK_NOTHROW(check_memory_cap(config, kHalf));
  config.run.memory_cap = "40GiB";
  CHECK_THAT(error_of([&] { check_memory_cap(config, kHalf); }),
             says("40GiB") && says("activations") && says("weights") && says("64 samples at a time") &&
                 says("these fit"));
  config.run.memory_cap = "1GiB";
  CHECK_THAT(error_of([&] { check_memory_cap(config, kHalf); }), says("no mesh of up to 4096 ranks fits"));
}

TEST_CASE("16 bits halve what they can, by the mode that a device will take") {
  Config config = mp(1, 1, 16);
  config.amp.mode = "bf16";
  CHECK(memory_facts(config, false).value_bytes == 2);
  config.amp.mode = "mixed";
  CHECK(memory_facts(config, true).value_bytes == 2);
  config.amp.mode = "tf32";
  CHECK(memory_facts(config, true).value_bytes == 4);
}
