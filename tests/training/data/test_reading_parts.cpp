// What loaders are made of: orders and plans of batches, sources, the slow disk, processors.
#include <sched.h>

#include <cmath>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/memory.h"
#include "core/waiting.h"
#include "data/affinity.h"
#include "data/batch_plan.h"
#include "data/fillers.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/set_clock.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

namespace isobar::test_reading_parts {

using namespace std::chrono_literals;

namespace {

struct Written {
  explicit Written(SmallData small = {}) : data(std::move(small)) { data.write(folder.path()); }
  Dataset open(DataSource source = DataSource::files) const {
    DataConfig config = data.config();
    config.source = source;
    return {config, folder.path(), "train", 0};
  }
  TempFolder folder;
  SmallData data;
};

std::vector<float> raw(const Dataset& dataset, FieldPlace place) {
  std::vector<float> out(dataset.shape().values());
  FillCost cost;
  dataset.read_raw(place, out, cost);
  return out;
}

}  // namespace

TEST_CASE("batch n holds the samples of the sampler's order, whoever asks and in whatever turn") {
  const Sampler sampler(23, true, 9);
  const BatchOrder order(sampler, 5);
  CHECK(order.steps_per_epoch() == 4);
  for (const std::int64_t batch : {0, 3, 4, 11, 2, 7, 0, 100}) {
    const std::vector<std::int64_t> all = sampler.order(batch / 4);
    const auto first = all.begin() + batch % 4 * 5;
    CHECK(order.samples(batch) == std::vector<std::int64_t>(first, first + 5));
    CHECK(order.epoch_of(batch) == batch / 4);
    CHECK(order.ends_epoch(batch) == (batch % 4 == 3));
  }
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t n = 0; n < 200; ++n) {
        const std::int64_t batch = (n * 7 + t) % 40;
        const std::vector<std::int64_t> all = sampler.order(batch / 4);
        if (order.samples(batch).front() != all[static_cast<std::size_t>(batch % 4 * 5)]) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK_THAT(error_of([&] { BatchOrder(sampler, 24); }), says("batch of 24") && says("23 samples"));
}

TEST_CASE("workers with one seed draw each batch as often as there are workers") {
  BatchOrder order(Sampler(24, true, 9), 2);
  const BatchOrder right(Sampler(24, true, 9), 2);
  order.repeat_for(3);
  for (std::int64_t batch = 0; batch < 24; ++batch)
    CHECK(order.samples(batch) == right.samples(batch / 12 * 12 + batch % 12 / 3));
}

TEST_CASE("a plan reads what samples share once where that is wanted, and all of it otherwise") {
  const Written files;
  const Dataset dataset = files.open();
  const BatchOrder in_order(Sampler(dataset.size(), false, 1), 8);
  const BatchPlan shared = plan_batch(dataset, in_order, 1, /*share=*/true);  // samples 8 to 15: two years
  const BatchPlan alone = plan_batch(dataset, in_order, 1, /*share=*/false);
  CHECK(alone.fields.size() == 16);
  CHECK(shared.fields.size() < 13);
  for (const BatchPlan& plan : {shared, alone}) {
    REQUIRE(plan.field_of.size() == 16);
    CHECK(plan.batch == 1);
    CHECK(plan.batch_size() == 8);
    CHECK(plan.sample_of.size() == plan.fields.size());
    for (std::size_t b = 0; b < 8; ++b) {
      const FieldPlace input = dataset.places(plan.samples[b])[0],
                       target = dataset.places(plan.samples[b])[1];
      CHECK(plan.fields[static_cast<std::size_t>(plan.field_of[b])] == input);
      CHECK(plan.fields[static_cast<std::size_t>(plan.field_of[8 + b])] == target);
    }
    for (std::size_t f = 0; f < plan.fields.size(); ++f) {
      const FieldPlace input = dataset.places(plan.sample_of[f])[0],
                       target = dataset.places(plan.sample_of[f])[1];
      CHECK((plan.fields[f] == input || plan.fields[f] == target));
    }
  }
  std::set<std::pair<std::int64_t, std::int64_t>> different;
  for (const FieldPlace& place : shared.fields) different.insert({place.file, place.record});
  CHECK(different.size() == shared.fields.size());  // none twice, and the same record of two years is two
}

TEST_CASE("memory gives what the files hold, without the files") {
  const Written files;
  const Dataset from_files = files.open();
  const Dataset from_memory = files.open(DataSource::memory);
  CHECK(from_memory.size() == from_files.size());
  CHECK(from_memory.identity() == from_files.identity());
  std::vector<std::vector<float>> fields;
  for (std::int64_t i = 0; i < from_files.size(); ++i)
    fields.push_back(raw(from_files, from_files.places(i)[1]));
  std::filesystem::remove_all(files.folder / "train");
  for (std::int64_t i = 0; i < from_memory.size(); ++i)
    CHECK(raw(from_memory, from_memory.places(i)[1]) == fields[static_cast<std::size_t>(i)]);
  CHECK_THAT(error_of([&] { raw(from_files, {0, 1}); }, Exit::failed), says("2001.h5"));
  CHECK_THAT(error_of(
                 [&] {
                   raw(from_memory, {0, 0});
                 },
                 Exit::failed),
             says("record 0") && says("2001.h5"));  // no sample needs it
}

TEST_CASE("samples that memory cannot hold are refused with both numbers") {
  const Written files;
  const std::vector<YearFile> opened = open_year_files(year_files(files.folder / "train"));
  const FieldShape large{1, std::int64_t{1} << 20, std::int64_t{1} << 20};
  const std::string said = error_of([&] { make_memory_source(opened, large, {{0, 1}, {}}); });
  CHECK_THAT(said, says("8.80 TB") && says(" are free") && says("data.source=files"));
}

TEST_CASE("made-up fields need no files, have mean 0 and spread 1, and are the same in every run") {
  DataConfig config = SmallData{}.config();
  config.grid = {64, 96};
  config.source = DataSource::synthetic;
  const Dataset one(config, "/nowhere", "train", 10);
  const Dataset two(config, "/nowhere", "train", 10);
  CHECK(one.is_synthetic());
  CHECK(one.size() == 10);
  CHECK(Dataset(config, "/nowhere", "valid", 0).size() == 512);
  double sum = 0;
  double squares = 0;
  std::size_t count = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::vector<float> field = raw(one, one.places(i + 1)[0]);
    CHECK(field == raw(two, two.places(i + 1)[0]));
    for (const float value : field) {
      sum += value;
      squares += value * value;
      ++count;
    }
  }
  const auto n = static_cast<double>(count);  // 73,728 values: 5 standard deviations of their mean are 0.018
  CHECK(std::abs(sum / n) < 0.02);
  CHECK(std::abs(squares / n - 1) < 0.03);
}

TEST_CASE("a slow disk gives what it is said to, to one reader and to several together") {
  for (const int readers : {1, 4}) {
    EventClock clock(readers);
    Throttle throttle(20);
    const std::int64_t begin_us = steady_us();
    std::vector<std::jthread> threads;
    for (int t = 0; t < readers; ++t) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100 / readers; ++n) throttle.take(200'000, steady_us());
        clock.one_less();
      });
    }
    threads.clear();
    INFO(readers << " readers");
    CHECK(steady_us() - begin_us == 1'000'000);  // 20 MB at 20 MB/s
  }
}

TEST_CASE("a slow disk can be left in the middle of a read, and none is no disk at all") {
  SetClock clock;  // stands still
  Throttle slow(1);
  std::stop_source stop;
  std::jthread reads([&] { slow.take(100'000'000, steady_us(), stop.get_token()); });
  clock.until_waiting(1);
  stop.request_stop();
  reads.join();
  Throttle none(0);
  none.take(std::int64_t{1} << 60, steady_us());
}

TEST_CASE("a slow disk does not save up what nobody read, and the time of the fast one counts") {
  const EventClock clock(1);
  Throttle throttle(10);
  const auto took_us = [&](std::int64_t bytes, std::int64_t fast_us) {
    const std::int64_t asked_us = steady_us();
    sleep_us(fast_us);
    throttle.take(bytes, asked_us);
    return steady_us() - asked_us;
  };
  CHECK(took_us(10'000, 0) == 1000);
  sleep_us(200'000);
  CHECK(took_us(500'000, 0) == 50'000);
  CHECK(took_us(500'000, 40'000) == 50'000);  // not 90
  sleep_us(1500);                             // so late a sleeper wakes: not made up for, and not lost
  CHECK(took_us(500'000, 0) == 48'500);
}

TEST_CASE("processors are named one by one and in ranges, and only those that may be used") {
  cpu_set_t own;
  CPU_ZERO(&own);
  REQUIRE(sched_getaffinity(0, sizeof(own), &own) == 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(first), &own)) ++first;
  const std::string name = std::to_string(first);
  CHECK(parse_affinity("none").empty());
  CHECK(parse_affinity(name) == std::vector<int>{first});
  CHECK(parse_affinity(name + "-" + name + "," + name) == std::vector<int>{first});
  for (const char* bad :
       {"", ",", "all", "1.5", "-1", "0-", "0x1", " 0", "99999999999999999999", "0;1", "0--1"})
    CHECK_THAT(error_of([&] { parse_affinity(bad); }), says("data.cpu_affinity"));
  CHECK_THAT(error_of([&] { parse_affinity(name + ","); }), says("no processor is named"));
  CHECK_THAT(error_of([&] { parse_affinity("3-1"); }), says("runs backwards"));
  CHECK_THAT(error_of([&] { parse_affinity("1023"); }), says("processor 1023"));
  CHECK_THAT(error_of([&] { parse_affinity("1024"); }), says("\"1024\" is no processor"));
  std::jthread([&] {
    run_on({first});
    cpu_set_t now;
    CPU_ZERO(&now);
    sched_getaffinity(0, sizeof(now), &now);
    CHECK(CPU_COUNT(&now) == 1);
    CHECK(CPU_ISSET(static_cast<std::size_t>(first), &now));
  }).join();
}

TEST_CASE("memory for a slot that cannot be had, and other failures, are told with the sample") {
  const Written files;
  const Dataset dataset = files.open();
  const BatchOrder order(Sampler(dataset.size(), false, 1), 4);
  const auto plain = [](std::size_t bytes) {
    return SlotMemory(new std::byte[bytes], std::default_delete<std::byte[]>());
  };
  std::filesystem::resize_file(files.folder / "train/2001.h5", 6000);
  for (const auto& filler : {make_sample_filler(dataset, order, plain),
                             make_field_filler(dataset, order, true, SlotLayout::ready, plain),
                             make_field_filler(dataset, order, true, SlotLayout::raw, plain)}) {
    const SlotMemory slot = filler->allocate();
    FillCost cost;
    CHECK_THAT(error_of(
                   [&] {
                     filler->fill(filler->plan(1), 0, {slot.get(), filler->slot_bytes()}, cost, {});
                   },
                   Exit::failed),
               says("sample 4 of batch 1") && says("record ") && says("2001.h5") && says("6000 bytes"));
  }
}

}  // namespace isobar::test_reading_parts
