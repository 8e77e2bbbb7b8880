// Where time goes that is planted into a loader: into the wait for a batch, as much as the arithmetic says,
// to the microsecond, and nowhere else. Time goes on when all threads wait.
#include <algorithm>

#include "core/clock.h"
#include "data/loader_world.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/event_clock.h"
#include "support/made_fault.h"

using namespace isobar;

namespace {

/// A small data set whose loaders live by a clock of events: of this thread, and the loader's own.
struct TimedWorld {
  Deadline deadline{"a loader by a clock of events", std::chrono::minutes(5)};
  EventClock clock{1};
  LoaderWorld world;

  std::unique_ptr<Loader> loader(const Dataset& dataset, const LoaderChoice& choice, std::int64_t batch) {
    clock.expect(1 + static_cast<int>(choice.workers));
    return world.loader(dataset, choice, batch);
  }
};

/// Sums over steps. Workers that started together also end together, so that one step waits for several
/// batches and the next ones for none: only whole rounds of them say what a step waits.
struct Sums {
  std::int64_t stall_us = 0;    ///< as the loader counts it
  std::int64_t load_us = 0;     ///< as its caller measures it
  std::int64_t compute_us = 0;  ///< what the caller slept
};

/// `steps` of a consumer that sleeps `compute_ms` between two batches, after the first ones; a multiple of
/// the workers.
Sums consume(Loader& loader, std::int64_t compute_ms, int steps) {
  constexpr int kWarmUp = 8;
  Sums sum;
  for (int step = 0; step < kWarmUp + steps; ++step) {
    const std::int64_t stalled_us = loader.counts().stall_us;
    const std::int64_t begin_us = steady_us();
    const Batch batch = loader.next();
    const std::int64_t loaded_us = steady_us();
    sleep_us(compute_ms * 1000);
    if (step < kWarmUp) continue;
    sum.stall_us += loader.counts().stall_us - stalled_us;
    sum.load_us += loaded_us - begin_us;
    sum.compute_us += steady_us() - loaded_us;
  }
  return sum;
}

}  // namespace

TEST_CASE("50 ms put into the loader are 50 ms of load inline, max(0, 50 / workers - compute) with workers") {
  constexpr std::int64_t kCompute_ms = 10;
  constexpr int kSteps = 32;
  TimedWorld timed;
  const MadeFault made({.fault = Fault::slow_loader, .ms = 50});
  const Dataset dataset = timed.world.open();
  for (const LoaderChoice& choice :
       {LoaderChoice{"inline", 0}, LoaderChoice{"workers", 1}, LoaderChoice{"workers", 2},
        LoaderChoice{"workers", 4}, LoaderChoice{"workers", 8}, LoaderChoice{"ring", 2, 3}}) {
    INFO(choice.kind << " with " << choice.workers << " threads");
    const std::int64_t wanted_us =
        choice.kind == "inline" ? 50'000
                                : std::max<std::int64_t>(0, 50'000 / choice.workers - 1000 * kCompute_ms);
    const Sums sum = consume(*timed.loader(dataset, choice, 4), kCompute_ms, kSteps);
    CHECK(sum.stall_us == kSteps * wanted_us);
    CHECK(sum.load_us == kSteps * wanted_us);
    CHECK(sum.compute_us == kSteps * 1000 * kCompute_ms);
  }
}

TEST_CASE("a consumer that sleeps as long as a real step never stalls when the source keeps up") {
  TimedWorld timed;
  const Dataset dataset = timed.world.open();
  for (const LoaderChoice& choice :
       {LoaderChoice{"workers", 1, 2}, LoaderChoice{"workers", 2, 2}, LoaderChoice{"workers", 4, 2},
        LoaderChoice{"ring", 1, 2}, LoaderChoice{"ring", 2, 3}}) {
    INFO(choice.kind << " with " << choice.workers << " threads");
    const auto loader = timed.loader(dataset, choice, 4);
    CHECK(consume(*loader, 30, 32).stall_us == 0);
    CHECK(loader->counts().ready >= 1);
  }
}

TEST_CASE("with a slow source the stall is bytes / rate - compute") {
  constexpr std::int64_t kStep_ms = 30;
  constexpr int kSteps = 12;
  constexpr std::int64_t kBatch = 6;
  TimedWorld timed;
  LoaderWorld& world = timed.world;
  world.data.rows = 64;
  world.data.columns = 120;
  world.data.write(world.folder.path());
  world.throttle_mb_per_s = 11;
  const Dataset dataset = world.open();
  for (const LoaderChoice& choice : {LoaderChoice{"inline", 0}, LoaderChoice{"workers", 1, 2},
                                     LoaderChoice{"workers", 2, 2}, LoaderChoice{"workers", 4, 2},
                                     LoaderChoice{"ring", 1, 2, false}, LoaderChoice{"ring", 3, 3, false}}) {
    INFO(choice.kind << " with " << choice.workers << " threads");
    const double bytes = 2 * static_cast<double>(kBatch) * static_cast<double>(dataset.shape().values()) * 4;
    const double read_us = bytes / static_cast<double>(world.throttle_mb_per_s);  // 100.5 ms
    const double wanted_us = choice.kind == "inline" ? read_us : read_us - 1000 * kStep_ms;
    const Sums sum = consume(*timed.loader(dataset, choice, kBatch), kStep_ms, kSteps);
    CHECK(std::abs(static_cast<double>(sum.stall_us) - kSteps * wanted_us) <
          2 * kSteps);  // whole microseconds
  }
}
