#include <cmath>
#include <optional>
#include <vector>

#include "data/fillers.h"
#include "kernels/pack.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

SlotMemory plain_memory(std::size_t bytes) {
  return {new std::byte[bytes], [](const std::byte* memory) { delete[] memory; }};
}

}  // namespace

TEST_CASE("packed slots hold the normalised fields in half the bytes, each once where they are shared") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  data.write_stats(folder.path(), 2000.0F);  // channel 0 within what an i16 holds, the others beyond
  const Dataset dataset(data.config(), folder.path(), "train", 0);
  const BatchOrder order(Sampler(dataset.size(), false, 0), 6);
  const std::size_t values = dataset.shape().values();
  for (const bool share : {true, false}) {
    for (const SlotLayout layout : {SlotLayout::f16, SlotLayout::i16}) {
      const auto filler = make_field_filler(dataset, order, share, layout, plain_memory);
      CHECK(filler->slot_bytes() == 2 * 6 * values * 2);
      const SlotMemory memory = filler->allocate();
      const BatchPlan plan = filler->plan(0);
      CHECK((plan.fields.size() < 12) == share);
      FillCost cost;
      for (std::int64_t part = 0; part < filler->parts(plan); ++part) {
        filler->fill(plan, part, {memory.get(), filler->slot_bytes()}, cost, {});
      }
      CHECK(cost.read_bytes == static_cast<std::int64_t>(plan.fields.size() * values * sizeof(float)));
      std::vector<float> input(values);
      std::vector<float> target(values);
      std::vector<std::uint16_t> packed(values);
      for (std::size_t b = 0; b < 6; ++b) {
        dataset.read_sample(plan.samples[b], input, target);
        for (const auto& [field, use] : {std::pair{&input, b}, std::pair{&target, 6 + b}}) {
          if (layout == SlotLayout::f16) {
            pack_f16(field->data(), static_cast<std::int64_t>(values), packed.data());
          } else {
            pack_i16(field->data(), static_cast<std::int64_t>(values),
                     reinterpret_cast<std::int16_t*>(packed.data()));
          }
          const auto n = static_cast<std::size_t>(plan.field_of[use]);
          const auto* const there = reinterpret_cast<const std::uint16_t*>(memory.get()) + n * values;
          REQUIRE(std::equal(packed.begin(), packed.end(), there));
        }
      }
    }
  }
}

TEST_CASE("a field that cannot be read is told with its sample, in packed slots too") {
  const TempFolder folder;
  SmallData data;
  data.write(folder.path());
  const Dataset dataset(data.config(), folder.path(), "train", 0);
  const BatchOrder order(Sampler(dataset.size(), false, 0), 24);
  const auto filler = make_field_filler(dataset, order, true, SlotLayout::f16, plain_memory);
  std::filesystem::resize_file(folder / "train/2001.h5", 4096);
  const SlotMemory memory = filler->allocate();
  const BatchPlan plan = filler->plan(0);
  const auto fill_all = [&] {
    FillCost cost;
    for (std::int64_t part = 0; part < filler->parts(plan); ++part) {
      filler->fill(plan, part, {memory.get(), filler->slot_bytes()}, cost, {});
    }
  };
  CHECK_THAT(error_of(fill_all, Exit::failed), says("of batch 0") && says("2001.h5"));
}
