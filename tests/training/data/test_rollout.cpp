// Samples with several targets: which records they are, in every loader, and how many of them fit.
#include <ATen/ops/equal.h>

#include <set>

#include "data/device_prefetch.h"
#include "data/fake_uploader.h"
#include "data/index_rule.h"
#include "data/loader_world.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_rollout {

namespace {

struct Rollouts : LoaderWorld {
  Dataset with(std::int64_t leads, DataSource source = DataSource::files, std::int64_t dt = 1) const {
    DataConfig config = data.config();
    config.source = source;
    config.dt = dt;
    return {config, folder.path(), "train", 0, {}, leads};
  }
};

/// The normalised field at `place`, [C, H, W].
at::Tensor field_of(const Dataset& dataset, FieldPlace place) {
  const FieldShape& shape = dataset.shape();
  at::Tensor out = at::empty({shape.channels, shape.height, shape.width}, at::kFloat);
  auto* const to = out.mutable_data_ptr<float>();
  FillCost unused;
  dataset.read_normalised(place, {&to, 1}, unused);
  return out;
}

/// Each sample's fields are those at dt, 2 dt, ... records behind its input.
void check_batch(const Dataset& dataset, const Batch& batch, std::int64_t dt) {
  const std::int64_t leads = dataset.leads();
  REQUIRE(batch.later.defined() == (leads > 1));
  if (leads > 1) REQUIRE(batch.later.size(0) == leads - 1);
  REQUIRE(static_cast<std::int64_t>(batch.samples.size()) == batch.size());
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const FieldPlace first = dataset.places(batch.samples[static_cast<std::size_t>(b)]).front();
    CHECK(at::equal(batch.input[b], field_of(dataset, first)));
    CHECK(at::equal(batch.target[b], field_of(dataset, {first.file, first.record + dt})));
    for (std::int64_t n = 2; n <= leads; ++n)
      CHECK(at::equal(batch.later[n - 2][b], field_of(dataset, {first.file, first.record + n * dt})));
  }
}

}  // namespace

TEST_CASE("all records of a rollout lie within its year, and one target is the rule of before") {
  for (const std::int64_t records : {12, 25}) {
    for (std::int64_t dt = 1; dt <= records / 3; ++dt) {
      for (std::int64_t leads = 1; leads <= records / dt - 2; ++leads) {
        std::set<std::int64_t> inputs;
        for (std::int64_t i = 0; i < 2 * records; ++i) {
          const SamplePlace place = place_sample(i, records, dt, leads);
          REQUIRE(place.file == i / records);
          REQUIRE(place.input >= dt);
          REQUIRE(place.input + leads * dt < records);
          inputs.insert(place.input);
          if (leads > 1) continue;
          std::int64_t k = i % records % (records - dt);
          if (k < dt) k += dt;
          REQUIRE(place.input == k);
        }
        // Every input that has dt records before it and its targets behind it.
        REQUIRE(static_cast<std::int64_t>(inputs.size()) == records - (leads + 1) * dt);
      }
    }
  }
}

TEST_CASE("a batch has the records of its rollouts, whoever reads it") {
  Rollouts world;
  for (const std::int64_t dt : {1, 2}) {
    for (const std::int64_t leads : {1, 2, 4}) {
      const Dataset dataset = world.with(leads, DataSource::files, dt);
      for (const LoaderChoice& choice :
           {LoaderChoice{"inline"}, LoaderChoice{"workers", 2, 2}, LoaderChoice{"ring", 3, 2, true},
            LoaderChoice{"ring", 2, 2, false}}) {
        INFO(choice.kind << " dt " << dt << " leads " << leads);
        const auto loader = world.loader(dataset, choice, 5);
        for (int step = 0; step < 6; ++step) check_batch(dataset, loader->next(), dt);
        loader->seek(2);
        CHECK(loader->next().samples == loader->order().samples(2));
      }
    }
  }
  const Dataset memory = world.with(4, DataSource::memory);
  check_batch(memory, world.loader(memory, {"ring", 2, 2, true}, 5)->next(), 1);
}

TEST_CASE("fields that rollouts share are read once, within a sample and over samples") {
  Rollouts world;
  const Dataset dataset = world.with(4);
  const BatchOrder order(Sampler(dataset.size(), false, 1), 4);
  const BatchPlan shared = plan_batch(dataset, order, 1, /*share=*/true);  // inputs 4 to 7
  const BatchPlan alone = plan_batch(dataset, order, 1, /*share=*/false);
  CHECK(shared.fields.size() == 8);
  CHECK(alone.fields.size() == 20);
  for (const BatchPlan& plan : {shared, alone}) {
    REQUIRE(plan.field_of.size() == 20);
    for (std::size_t use = 0; use < 20; ++use) {
      const FieldPlace wanted = dataset.places(plan.samples[use % 4])[use / 4];
      CHECK(plan.fields[static_cast<std::size_t>(plan.field_of[use])] == wanted);
    }
  }
  CHECK(batch_bytes(dataset, 4) == 5 * 4 * dataset.shape().values() * 4);
}

TEST_CASE("rollouts come through the prefetch of a device, and several batches are joined as one") {
  Rollouts world;
  const Dataset dataset = world.with(3);
  Config config;
  config.data = world.data.config();
  config.data.workers = 2;
  config.train.global_batch = 4;
  const Sampler sampler(dataset.size(), true, 333);
  FakeDevice device;
  device.shape = {4, 4, 3, 8, 16};
  RingLoader ring(dataset, sampler, config, c10::kCPU, world.spans);
  DevicePrefetch loader(ring, std::make_unique<FakeUploader>(device), PrefetchSetting{});
  InlineLoader plain(dataset, sampler, 4);
  for (int step = 0; step < 3; ++step) check_batch(dataset, loader.next(), 1);
  plain.seek(3);
  const Batch joined = next_batches(loader, 3).to(c10::kCPU);
  CHECK(joined.size() == 12);
  CHECK(joined.later.sizes() == at::IntArrayRef({2, 12, 3, 8, 16}));
  check_batch(dataset, joined, 1);
  for (std::int64_t part = 0; part < 3; ++part)
    CHECK(at::equal(joined.later.narrow(1, 4 * part, 4), plain.next().later));
}

TEST_CASE("the one batch of made-up rollouts stays, with all its targets and samples") {
  Rollouts world;
  const Dataset dataset = world.with(3, DataSource::synthetic);
  InlineLoader loader(dataset, Sampler(dataset.size(), true, 333), 4);
  const Batch first = loader.next();
  check_batch(dataset, first, 1);
  const Batch second = loader.next();
  CHECK(second.later.data_ptr() == first.later.data_ptr());
  CHECK(second.samples == first.samples);
  CHECK(second.to(c10::Device(c10::kMeta)).later.is_meta());
  CHECK(loader.next().to(c10::Device(c10::kMeta)).samples == first.samples);
  const Batch joined = next_batches(loader, 2);
  CHECK(joined.later.size(1) == 8);
  CHECK(next_batches(loader, 2).samples.size() == 8);
}

TEST_CASE("a rollout longer than a year is refused with the longest one") {
  Rollouts world;
  CHECK(world.with(10).leads() == 10);
  CHECK_THAT(error_of([&] { world.with(11); }), says("a year of 12 records") && says("11 forecasts") &&
                                                    says("2001.h5") && says("train.rollout=10 at most"));
  CHECK_THAT(error_of([&] { world.with(5, DataSource::memory, 2); }), says("train.rollout=4 at most"));
  CHECK_THAT(error_of([&] { world.with(2, DataSource::files, 4); }), says("train.rollout=1 at most"));
  CHECK(world.with(2000, DataSource::synthetic).leads() == 2000);
}

}  // namespace isobar::test_rollout
