// Loaders on a device with streams: batches are the plain loader's, whatever the device does when, and no
// slot is filled again while it is still read.
#include <ATen/ops/equal.h>

#include "core/error.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "data/slots.h"
#include "data/worker_loader.h"
#include "support/made_fault.h"
#include "support/small_data.h"
#include "support/temp_folder.h"
#include "training/streams/checked_device.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

struct World {
  explicit World(std::int64_t leads = 1) {
    data.write(folder.path());
    config.data = data.config();
    config.data.workers = 3;
    config.train.global_batch = 2;
    dataset.emplace(config.data, folder.path(), "train", 0, LatitudeBand{}, leads);
    InlineLoader plain(*dataset, sampler(), 2);
    for (int i = 0; i < kBatches; ++i) wanted.push_back(plain.next());
  }
  Sampler sampler() const { return {dataset->size(), true, 333}; }

  /// All batches as the device got them, which are read when all were asked for.
  void check(Loader& loader, c10::Device of_loader) const {
    std::vector<Batch> got;
    for (int i = 0; i < kBatches; ++i) {
      const Batch batch = loader.next().to(kHostDevice);
      got.push_back({batch.input.clone(), batch.target.clone()});  // asked for on the stream
      if (batch.later.defined()) got.back().later = batch.later.clone();
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("batch " << i << " of a loader on " << of_loader.str());
      CHECK(got[i].input.cpu().equal(wanted[i].input));
      CHECK(got[i].target.cpu().equal(wanted[i].target));
      REQUIRE(got[i].later.defined() == wanted[i].later.defined());
      if (got[i].later.defined()) CHECK(got[i].later.cpu().equal(wanted[i].later));
    }
  }
  void prefetch() {
    RingLoader ring(*dataset, sampler(), config, kHostDevice, spans);
    DevicePrefetch loader(ring, config.loader);
    check(loader, kHostDevice);
  }

  static constexpr int kBatches = 25;
  TempFolder folder;
  SmallData data;
  Config config;
  std::optional<Dataset> dataset;
  std::vector<Batch> wanted;
  SpanWriter spans{folder / "spans.jsonl", 200, StreamStart::create, 0, 0, 0};
};

}  // namespace

TEST_CASE("batches that are uploaded beside kernels are those of the plain loader") {
  World world;
  for (const bool copy_stream : {true, false}) {
    for (const NormalisedOn where : {NormalisedOn::device, NormalisedOn::host}) {
      for (const std::int64_t slots : {2, 4}) {
        world.config.loader.copy_stream = copy_stream;
        world.config.loader.normalise = where;
        world.config.loader.slots = slots;
        INFO("copy stream " << copy_stream << ", slots " << slots);
        check_right([&] { world.prefetch(); }, 4);
      }
    }
  }
}

TEST_CASE("all targets of a rollout are uploaded, and normalised there or before") {
  for (const std::int64_t leads : {2, 4}) {
    World world(leads);
    for (const NormalisedOn where : {NormalisedOn::device, NormalisedOn::host}) {
      world.config.loader.normalise = where;
      INFO("leads " << leads);
      check_right([&] { world.prefetch(); }, 2);
    }
  }
}

TEST_CASE("batches of loader threads go to the device on the stream of the loop") {
  World world;
  check_right([&] {
    WorkerLoader loader(*world.dataset, world.sampler(), world.config, kHostDevice, world.spans);
    world.check(loader, kHostDevice);
  });
}

TEST_CASE("race: a batch is used without waiting for its upload (fault no_stream_wait)") {
  const MadeFault made({.fault = Fault::no_event});
  World world;
  check_found("race", [&] { world.prefetch(); });
}

namespace {

/// The one slot of a ring, as its threads and the loop pass it on.
struct OneSlot {
  std::vector<float> values = std::vector<float>(64, 1);
  std::shared_ptr<void> memory{device().allocate_pinned(256, /*kept=*/false),
                               [](void* of) { device().free_pinned(of); }};
  std::shared_ptr<std::function<void()>> hook = std::make_shared<std::function<void()>>();

  void fill(float value) {
    if (*hook) std::exchange(*hook, {})();
    std::fill_n(static_cast<float*>(memory.get()), 64, value);
  }
  /// Uploads it by way of a tensor, which is gone when this returns.
  at::Tensor upload() {
    FilledSlot slot;
    slot.memory = SlotMemory(memory, static_cast<std::byte*>(memory.get()));
    slot.bytes = 256;
    slot.reuse_hook = hook;
    return slot_tensor(slot, {64}, kHostDevice).to(kHostDevice, /*non_blocking=*/true);
  }
};

/// A plugin whose events are refused, as in a thread whose current device is another one.
struct NoEvents final : HostPlugin {
  CUevent_st* create_event() const override { throw Error("invalid device", "", "", Exit::failed); }
};

}  // namespace

TEST_CASE("a slot is filled again when the device has read it, and not before") {
  check_right([] {
    device().stand_still();
    OneSlot slot;
    slot.fill(1);
    const at::Tensor first = slot.upload();
    slot.fill(2);
    const at::Tensor second = slot.upload();
    CHECK(first.sum().item<float>() == 64);
    CHECK(second.sum().item<float>() == 128);
  });
}

TEST_CASE("late copy: a slot is filled again before anybody asked whether it was read") {
  check_wrong("late copy", [] {
    device().stand_still();
    OneSlot slot;
    slot.fill(1);
    const at::Tensor first = slot.upload();
    *slot.hook = {};
    slot.fill(2);
    first.sum().item<float>();
  });
}

TEST_CASE("a slot whose end nobody can know is not filled again: its thread is told why") {
  static const NoEvents plugin;
  std::string told;
  check_right(
      [&] {
        device().stand_still();
        choose_cuda_plugin(plugin);
        OneSlot slot;
        slot.fill(1);
        const at::Tensor first = slot.upload();
        try {
          slot.fill(2);
        } catch (const Error& error) {
          told = error.what();
        }
        CHECK(first.sum().item<float>() == 64);
      },
      1);
  CHECK(told == "invalid device");
}
