#include <ATen/ops/equal.h>

#include "data/loader.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

using namespace isobar;

TEST_CASE("batches follow the sampler through the epochs, the incomplete one is dropped") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset(data.config(), folder.path(), "train", 0);
  const Sampler sampler(dataset.size(), true, 333);
  InlineLoader loader(dataset, sampler, 5);
  CHECK(loader.steps_per_epoch() == 4);
  std::vector<float> input(dataset.shape().values());
  std::vector<float> target(dataset.shape().values());
  for (std::int64_t step = 0; step < 9; ++step) {
    const Batch batch = loader.next();
    CHECK(batch.epoch == step / 4);
    CHECK(batch.ends_epoch == (step % 4 == 3));
    REQUIRE(batch.input.sizes() == at::IntArrayRef({5, 3, 8, 16}));
    const std::vector<std::int64_t> order = sampler.order(step / 4);
    for (std::int64_t b = 0; b < 5; ++b) {
      dataset.read_sample(order[static_cast<std::size_t>(step % 4 * 5 + b)], input, target);
      const at::Tensor sample = batch.input[b].contiguous();
      REQUIRE(std::equal(input.begin(), input.end(), sample.const_data_ptr<float>()));
      const at::Tensor wanted = batch.target[b].contiguous();
      REQUIRE(std::equal(target.begin(), target.end(), wanted.const_data_ptr<float>()));
    }
  }
}

TEST_CASE("two loaders of one seed give the same batches to the last bit") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset(data.config(), folder.path(), "train", 0);
  InlineLoader one(dataset, Sampler(dataset.size(), true, 333), 4);
  InlineLoader two(dataset, Sampler(dataset.size(), true, 333), 4);
  for (int step = 0; step < 10; ++step) CHECK(at::equal(one.next().target, two.next().target));
}

TEST_CASE("a batch larger than the data is refused") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset(data.config(), folder.path(), "train", 0);
  CHECK_THAT(error_of([&] { InlineLoader loader(dataset, Sampler(dataset.size(), true, 1), 25); }),
             says("batch of 25") && says("24 samples") && says("train.global_batch"));
}

TEST_CASE("made-up data is one batch that stays where it was brought, and costs no wait") {
  const SmallData data;
  DataConfig config = data.config();
  config.source = DataSource::synthetic;
  const Dataset dataset(config, "/nowhere", "train", 20);
  InlineLoader loader(dataset, Sampler(dataset.size(), true, 333), 5);
  const Batch first = loader.next();
  const Batch brought = first.to(c10::Device(c10::kCPU));
  CHECK(brought.input.data_ptr() == first.input.data_ptr());
  const std::int64_t waited_us = loader.counts().stall_us;
  for (std::int64_t step = 1; step < 9; ++step) {
    const Batch batch = loader.next();
    CHECK(batch.input.data_ptr() == brought.input.data_ptr());
    CHECK(batch.target.data_ptr() == brought.target.data_ptr());
    CHECK(batch.to(c10::Device(c10::kCPU)).input.data_ptr() == brought.input.data_ptr());
    CHECK(batch.epoch == step / 4);
    CHECK(batch.ends_epoch == (step % 4 == 3));
  }
  CHECK(loader.position() == 9);
  CHECK(loader.counts().stall_us == waited_us);
  loader.seek(3);
  CHECK(loader.next().ends_epoch);
  // Several of them are joined once.
  const Batch joined = next_batches(loader, 3);
  CHECK(joined.size() == 15);
  for (const std::int64_t part : {0, 5, 10}) CHECK(at::equal(joined.input.narrow(0, part, 5), brought.input));
  const Batch again = next_batches(loader, 3);
  CHECK(again.input.data_ptr() == joined.input.data_ptr());
  CHECK(loader.position() == 10);
  CHECK(again.epoch == 2);
  CHECK(again.to(c10::Device(c10::kMeta)).input.is_meta());
  CHECK(next_batches(loader, 3).target.is_meta());
  CHECK(next_batches(loader, 2).size() == 10);
  // What moves it moves it once: a "meta" device stands in for one with memory of its own.
  const Batch moved = loader.next().to(c10::Device(c10::kMeta));
  CHECK(moved.input.is_meta());
  CHECK(loader.next().input.is_meta());
}
