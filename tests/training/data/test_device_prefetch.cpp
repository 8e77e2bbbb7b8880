// The order of things between a ring and a device that is late, refuses, or breaks.
#include <ATen/ops/equal.h>

#include <chrono>
#include <optional>

#include "config/with_fault.h"
#include "data/device_prefetch.h"
#include "data/fake_uploader.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/set_clock.h"
#include "support/small_data.h"
#include "support/temp_folder.h"
#include "support/until.h"

namespace isobar::test_device_prefetch {

using namespace std::chrono_literals;

namespace {

const c10::Device kCpu(c10::kCPU);

/// A small data set, a ring over it, and the fake device behind them.
struct Bench {
  explicit Bench(std::int64_t batch_size, std::int64_t slots = 3, std::int64_t workers = 2,
                 std::int64_t throttle = 0) {
    data.write(folder.path());
    config.data = data.config();
    config.data.workers = workers;
    config.data.throttle_mb_per_s = throttle;
    config.loader.slots = slots;
    config.train.global_batch = batch_size;
    dataset.emplace(config.data, folder.path(), "train", 0);
    device.shape = {2, batch_size, data.channels, data.rows, data.columns};
  }

  Sampler sampler() const { return {dataset->size(), true, 333}; }
  RingLoader ring(Passes passes = Passes::endless) {
    return {*dataset, sampler(), config, kCpu, spans, passes};
  }
  std::unique_ptr<Uploader> uploader() { return std::make_unique<FakeUploader>(device); }
  InlineLoader plain() const { return {*dataset, sampler(), config.train.global_batch}; }

  TempFolder folder;
  SmallData data;
  Config config;
  std::optional<Dataset> dataset;
  SpanWriter spans{folder / "spans.jsonl", 200, StreamStart::create, 0, 0, 0};
  FakeDevice device;
};

bool same(const Batch& one, const Batch& two) {
  return at::equal(one.input, two.input) && at::equal(one.target, two.target) && one.epoch == two.epoch &&
         one.ends_epoch == two.ends_epoch;
}

}  // namespace

TEST_CASE(
    "batches are those of the plain loader, for any ring, any number ahead, with and without a thread") {
  for (const std::int64_t batch_size : {1, 5, 24}) {
    for (const std::int64_t slots : {1, 2, 3, 7}) {
      for (const std::int64_t ahead : {1, 2, 4}) {
        Bench bench(batch_size, slots, 1 + slots % 3);
        bench.device.most_us = 1500;
        InlineLoader plain = bench.plain();
        RingLoader ring = bench.ring();
        DevicePrefetch loader(ring, bench.uploader(), {.ahead = ahead, .own_thread = ahead != 4});
        INFO("batch " << batch_size << " slots " << slots << " ahead " << ahead);
        for (int step = 0; step < 12; ++step) {
          INFO("step " << step);
          REQUIRE(same(loader.next(), plain.next()));
        }
        CHECK(loader.position() == 12);
        CHECK(loader.counts().batches == 12);
        CHECK(loader.counts().slots == (ahead != 4 ? ahead : slots));
        CHECK(loader.counts().ready <= loader.counts().slots);
        CHECK(loader.counts().read_bytes > 0);
      }
    }
  }
}

TEST_CASE("several batches may be held while others come") {
  Bench bench(4, 2);
  bench.device.most_us = 3000;
  InlineLoader plain = bench.plain();
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 3});
  std::vector<Batch> held;
  for (int step = 0; step < 9; ++step) held.push_back(loader.next());  // more than the ring has slots
  for (const Batch& batch : held) REQUIRE(same(batch, plain.next()));
}

TEST_CASE("after a seek batches go on from there, whatever was on its way") {
  const bool own_thread = GENERATE(true, false);
  Bench bench(3);
  bench.device.most_us = 4000;
  InlineLoader plain = bench.plain();
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 2, .own_thread = own_thread});
  loader.seek(5);  // before the first batch
  plain.seek(5);
  for (const std::int64_t position : {5, 0, 17, 3, 3, 8, 40, 0}) {
    INFO("position " << position);
    loader.seek(position);
    plain.seek(position);
    for (int step = 0; step < 3; ++step) REQUIRE(same(loader.next(), plain.next()));
  }
}

TEST_CASE("an upload that is refused is told after the good batches before it, and again, until a seek") {
  const bool own_thread = GENERATE(true, false);
  Bench bench(4);
  bench.device.refuses = 3;
  InlineLoader plain = bench.plain();
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 2, .own_thread = own_thread});
  for (int step = 0; step < 3; ++step) REQUIRE(same(loader.next(), plain.next()));
  for (int again = 0; again < 3; ++again) {
    CHECK_THAT(error_of([&] { loader.next(); }, Exit::failed), says("the upload is refused"));
  }
  CHECK(loader.position() == 3);
  bench.device.refuses = -1;
  loader.seek(3);
  for (int step = 0; step < 4; ++step) REQUIRE(same(loader.next(), plain.next()));
}

TEST_CASE("a device that is lost is told by next, and holds up nothing") {
  Bench bench(4);
  bench.device.lost_at = 2;
  bench.device.most_us = 100;
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {});
  const std::string told = error_of(
      [&] {
        for (int step = 0; step < 6; ++step) loader.next();
      },
      Exit::failed);
  CHECK_THAT(told, says("the device is lost"));
}

TEST_CASE("values that are not finite on the device end the run with the batch they are in") {
  const bool own_thread = GENERATE(true, false);
  Bench bench(4);
  bench.device.bad_at = 2;
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 2, .own_thread = own_thread});
  const std::string told = error_of(
      [&] {
        for (int step = 0; step < 6; ++step) loader.next();
      },
      Exit::failed);
  CHECK_THAT(told, says("3 values were not finite numbers on the device") && says("batch 2"));
  CHECK(loader.position() >= 2);
}

TEST_CASE("an error of the reading threads comes in order, with file and sample") {
  Bench bench(24, 2);
  std::filesystem::resize_file(bench.folder / "train/2002.h5",
                               std::filesystem::file_size(bench.folder / "train/2002.h5") / 2);
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {});
  CHECK_THAT(error_of([&] { loader.next(); }, Exit::failed),
             says("of batch 0") && says("2002.h5") && says("sample"));
}

TEST_CASE("with full queues, with nothing asked for, and while the disk is slow, the end comes") {
  const Deadline deadline("the end of a loader", 5min);
  const bool own_thread = GENERATE(true, false);
  for (const int asked : {0, 1, 3}) {
    Bench bench(4, 3);
    RingLoader ring = bench.ring();
    std::optional<DevicePrefetch> loader;
    loader.emplace(ring, bench.uploader(), PrefetchSetting{.ahead = 2, .own_thread = own_thread});
    for (int step = 0; step < asked; ++step) loader->next();
    if (asked > 0)
      until([&] { return bench.device.starts >= asked + (own_thread ? 1 : 0); });  // all queues are full
    loader.reset();
  }
  SetClock clock;
  Bench bench(16, 2, 1, /*throttle=*/1);
  RingLoader ring = bench.ring();
  std::optional<DevicePrefetch> loader;
  loader.emplace(ring, bench.uploader(), PrefetchSetting{});
  std::atomic<bool> came = false;
  std::jthread asks([&] {
    loader->next();
    came = true;
  });
  until([&] {
    clock.advance_us(10'000);
    return came.load();
  });
  clock.until_waiting(2);  // the thread that uploads, and one whose read never comes
  loader.reset();
}

TEST_CASE("next does not wait for an upload, and the end does not wait for a device that is stuck") {
  const Deadline deadline("a device that is stuck", 5min);
  Bench bench(4);
  bench.device.stuck = true;
  RingLoader ring = bench.ring();
  std::optional<DevicePrefetch> loader;
  loader.emplace(ring, bench.uploader(), PrefetchSetting{});
  const Batch batch = loader->next();  // nothing arrives: it would never come back
  CHECK(batch.input.size(0) == 4);
  CHECK(loader->counts().ready == 0);
  loader.reset();
}

TEST_CASE("batches lie ready on the device when the loop is slower than everything else") {
  Bench bench(4, 3);
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 2});
  for (int step = 0; step < 10; ++step) {
    loader.next();
    until([&] { return bench.device.settled == step + 3; });  // arrived, and in the queue
  }
  loader.next();
  CHECK(loader.counts().ready == 2);
  CHECK(loader.counts().slots == 2);
}

TEST_CASE("where the loop asks for uploads itself, batches lie ready in the ring, and are counted there") {
  Bench bench(4, 3);
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.uploader(), {.own_thread = false});
  std::int64_t most = 0;
  loader.next();
  until([&] {
    loader.next();
    most = std::max(most, loader.counts().ready);
    return most == 3;
  });
  CHECK(loader.counts().slots == 3);
}

TEST_CASE("in a single pass nothing of the next epoch is taken before it is asked for") {
  EventClock clock(3);  // two read, one uploads
  Bench bench(5);
  RingLoader ring = bench.ring(Passes::single);
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 3, .crosses_epochs = ring.crosses_epochs()});
  InlineLoader plain = bench.plain();
  for (int pass = 0; pass < 3; ++pass) {
    loader.seek(0);
    plain.seek(0);
    for (std::int64_t step = 0; step < loader.steps_per_epoch(); ++step) {
      REQUIRE(same(loader.next(), plain.next()));
    }
    clock.until_still();
    CHECK(bench.device.starts == (pass + 1) * loader.steps_per_epoch());
  }
}

TEST_CASE("fault no_event: batches are used before they have arrived, and their values show it") {
  Bench bench(4);
  bench.device.most_us = 40'000;
  InlineLoader plain = bench.plain();
  int wrong = 0;
  {
    RingLoader ring = bench.ring();
    DevicePrefetch loader(ring, bench.uploader(), {.awaits_upload = false});
    for (int step = 0; step < 6; ++step) {
      const Batch expected = plain.next();
      if (!same(loader.next(), expected)) ++wrong;
    }
  }
  CHECK(wrong > 0);
}

TEST_CASE("fault one_slot: the same batches from a ring of one slot") {
  Bench bench(4, 3);
  bench.config = with_fault(bench.config, {.fault = Fault::one_slot});
  bench.device.most_us = 500;
  InlineLoader plain = bench.plain();
  RingLoader ring = bench.ring();
  CHECK_THAT(ring.text(), says("1 slot "));
  DevicePrefetch loader(ring, bench.uploader(), {.ahead = 2});
  for (int step = 0; step < 8; ++step) REQUIRE(same(loader.next(), plain.next()));
}

TEST_CASE("on a CPU batches are those of the ring, and a smaller form for the way to a device is refused") {
  Bench bench(4);
  InlineLoader plain = bench.plain();
  RingLoader ring = bench.ring();
  DevicePrefetch loader(ring, bench.config.loader);
  loader.seek(2);
  plain.seek(2);
  for (int step = 0; step < 8; ++step) REQUIRE(same(loader.next(), plain.next()));
  CHECK(loader.text() == ring.text());
  CHECK(loader.counts().batches == 8);
  bench.config.loader.upload_type = UploadType::i16;
  CHECK_THAT(error_of([&] { DevicePrefetch(ring, bench.config.loader); }),
             says("loader.upload_type = \"i16\"") && says("on a CPU") && says("upload_type=f32"));
}

}  // namespace isobar::test_device_prefetch
