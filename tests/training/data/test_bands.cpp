// Bands of latitudes: each reads its rows of every field and no others, wherever fields come from.
#include <ATen/ops/equal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/clock.h"
#include "data/fillers.h"
#include "data/loader_world.h"
#include "fields/foreign_files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/made_fault.h"

namespace isobar::test_bands {

namespace {

/// Twelve rows, which 1, 2, 3 and 4 bands share, of files with one more of each.
struct Banded {
  explicit Banded(const Layout& layout = {}) {
    data.rows = 13;
    data.columns = 17;
    if (layout.chunk) {
      Layout own = layout;
      own.shape = {data.records, data.channels, data.rows, data.columns};
      std::filesystem::create_directories(folder / "train");
      write_foreign(folder / "train/2001.h5", own);
      data.write_stats(folder.path());
    } else {
      data.write(folder.path());
    }
  }
  Dataset open(LatitudeBand band = {}, DataSource source = DataSource::files) const {
    DataConfig config = data.config();
    config.grid = {12, 16};
    config.source = source;
    config.throttle_mb_per_s = throttle_mb_per_s;
    return {config, folder.path(), "train", 12, band};
  }

  TempFolder folder;
  SmallData data;
  std::int64_t throttle_mb_per_s = 0;
};

struct Fields {
  std::vector<float> raw;
  std::vector<float> normalised;
  std::int64_t read_bytes = 0;
};

Fields fields_at(const Dataset& dataset, FieldPlace place) {
  Fields out{std::vector<float>(dataset.shape().values()), std::vector<float>(dataset.shape().values())};
  FillCost cost;
  dataset.read_raw(place, out.raw, cost);
  float* const to = out.normalised.data();
  dataset.read_normalised(place, {&to, 1}, cost);
  out.read_bytes = cost.read_bytes;
  return out;
}

std::vector<float> rows_of(const std::vector<float>& field, const FieldShape& shape) {
  std::vector<float> out;
  const std::int64_t plane = shape.whole().height * shape.width;
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    const auto begin = field.begin() + channel * plane + shape.first_row * shape.width;
    out.insert(out.end(), begin, begin + shape.height * shape.width);
  }
  return out;
}

/// `reads_all`: a band costs the bytes of the whole.
void check_bands(const Banded& files, DataSource source, bool reads_all = false) {
  const Dataset whole = files.open({}, source);
  CHECK(whole.shape() == whole.shape().whole());
  for (const std::int64_t count : {1, 2, 3, 4}) {
    for (std::int64_t index = 0; index < count; ++index) {
      INFO("band " << index << " of " << count);
      const Dataset band = files.open({index, count}, source);
      CHECK(band.shape().height == 12 / count);
      CHECK(band.shape().first_row == index * 12 / count);
      CHECK(band.shape().whole() == whole.shape());
      CHECK(band.identity() == whole.identity());
      CHECK(band.size() == whole.size());
      for (const std::int64_t sample : {1, 4, 11}) {
        const FieldPlace place = whole.places(sample)[1];
        REQUIRE(band.places(sample) == whole.places(sample));
        const Fields wanted = fields_at(whole, place);
        const Fields found = fields_at(band, place);
        CHECK(found.raw == rows_of(wanted.raw, band.shape()));
        CHECK(found.normalised == rows_of(wanted.normalised, band.shape()));
        CHECK(found.read_bytes * (reads_all ? 1 : count) == wanted.read_bytes);
      }
    }
  }
}

}  // namespace

TEST_CASE("bands are the rows of the whole and 1/g of its bytes: files in every layout") {
  check_bands(Banded(), DataSource::files);
  check_bands(Banded({.chunk = std::array<std::int64_t, 4>{1, 2, 4, 17}}), DataSource::files);
  check_bands(Banded({.chunk = std::array<std::int64_t, 4>{2, 3, 5, 6}}), DataSource::files);
  check_bands(Banded({.chunk = std::array<std::int64_t, 4>{1, 2, 5, 17}, .gzip = 4}), DataSource::files);
}

TEST_CASE("bands are the rows of the whole and 1/g of its bytes: memory, and made-up fields") {
  check_bands(Banded(), DataSource::memory);
  check_bands(Banded({.chunk = std::array<std::int64_t, 4>{1, 2, 5, 17}, .gzip = 4}), DataSource::memory);
  check_bands(Banded(), DataSource::synthetic);
}

TEST_CASE("with the fault read_all a band costs the bytes of the whole and has the same values") {
  const MadeFault fault({.fault = Fault::read_all});
  for (const DataSource source : {DataSource::files, DataSource::memory, DataSource::synthetic})
    check_bands(Banded(), source, /*reads_all=*/true);
}

TEST_CASE("fillers of all layouts read exactly 1/g of the bytes of a batch, shared fields once") {
  const Banded files;
  const auto plain = [](std::size_t bytes) {
    return SlotMemory(new std::byte[bytes], std::default_delete<std::byte[]>());
  };
  const auto read_bytes = [&](const Dataset& dataset, SlotLayout layout) {
    const auto filler =
        make_field_filler(dataset, BatchOrder(Sampler(dataset.size(), false, 1), 6), true, layout, plain);
    const BatchPlan plan = filler->plan(1);
    const SlotMemory slot = filler->allocate();
    FillCost cost;
    for (std::int64_t part = 0; part < filler->parts(plan); ++part)
      filler->fill(plan, part, {slot.get(), filler->slot_bytes()}, cost, {});
    return cost.read_bytes;
  };
  const Dataset whole = files.open();
  for (const SlotLayout layout : {SlotLayout::ready, SlotLayout::raw, SlotLayout::f16}) {
    const std::int64_t all = read_bytes(whole, layout);
    CHECK(all == 8 * 3 * 12 * 16 * 4);  // records 6 to 11, 1 and 2
    for (const std::int64_t count : {2, 3, 4})
      CHECK(read_bytes(files.open({count - 1, count}), layout) * count == all);
  }
}

TEST_CASE("a slow disk takes a third of the time for a third of the rows, unless all are read") {
  Banded files;
  files.throttle_mb_per_s = 1;
  const auto took_us = [&](LatitudeBand band) {
    const Dataset dataset = files.open(band);
    const EventClock clock(1);
    const std::int64_t begin_us = steady_us();
    fields_at(dataset, {0, 3});  // raw and normalised: twice
    return steady_us() - begin_us;
  };
  CHECK(took_us({}) == 2 * 3 * 12 * 16 * 4);
  CHECK(took_us({2, 3}) == 2 * 3 * 4 * 16 * 4);
  const MadeFault fault({.fault = Fault::read_all});
  CHECK(took_us({2, 3}) == took_us({}));
}

TEST_CASE("a value of a band that is not finite is named by its row in the file") {
  const Banded files;
  const std::filesystem::path path = files.folder / "train/2001.h5";
  const float value = std::numeric_limits<float>::quiet_NaN();
  const auto begin = static_cast<std::int64_t>(std::filesystem::file_size(path)) - 12L * 3 * 13 * 17 * 4;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(begin + (((4 * 3 + 1) * 13 + 10) * 17 + 9) * 4);
  file.write(reinterpret_cast<const char*>(&value), 4);
  file.close();
  std::vector<float> input(3UL * 3 * 16), target(input.size());
  const Dataset south = files.open({3, 4});
  CHECK_THAT(error_of([&] { south.read_sample(4, input, target); }, Exit::failed),
             says("2001.h5") && says("record 4, channel 1") && says("row 10, column 9"));
  files.open({2, 4}).read_sample(4, input, target);
}

TEST_CASE("the climatology of a band is that of the whole, whose maps are scored") {
  const Banded files;
  std::vector<float> means(3UL * 12 * 16);
  for (std::size_t i = 0; i < means.size(); ++i)
    means[i] = static_cast<float>(i / 192 * 10 + 1) + static_cast<float>(i % 192) / 96 - 1;
  write_npy(files.folder / "stats/time_means.npy", std::array<std::int64_t, 4>{1, 3, 12, 16}, means);
  const Dataset whole = files.open();
  CHECK(whole.climatology().values.size() == means.size());
  CHECK(files.open({1, 4}).climatology().values == whole.climatology().values);
}

TEST_CASE("rows that bands cannot share evenly are refused with what fits") {
  const Banded files;
  CHECK_THAT(error_of([&] {
               files.open({0, 5});
             }),
             says("12 rows") && says("5 ranks") && says("data.read_group=4 or 6"));
  CHECK_THAT(error_of([&] { files.open({0, 13}); }), says("data.read_group=12,"));
  CHECK_THAT(error_of([&] { files.open({0, 7}, DataSource::synthetic); }), says("data.read_group=6 or 12"));
  CHECK_THAT(error_of([&] { files.open({4, 4}); }), says("band 4"));
  CHECK_THAT(error_of([&] { files.open({-1, 4}); }), says("band -1"));
}

TEST_CASE("loaders of a band hand out the rows of the batches of the whole") {
  const Banded files;
  LoaderWorld world;
  const Dataset whole = files.open();
  const Dataset band = files.open({1, 3});
  for (const LoaderChoice& choice :
       {LoaderChoice{"inline"}, LoaderChoice{"workers", 2, 2}, LoaderChoice{"ring", 2, 2, true}}) {
    INFO(choice.kind);
    const auto all = world.loader(whole, {"inline"}, 5);
    const auto own = world.loader(band, choice, 5);
    for (int step = 0; step < 5; ++step) {
      const Batch wanted = all->next();
      const Batch found = own->next();
      REQUIRE(found.input.sizes() == at::IntArrayRef({5, 3, 4, 16}));
      CHECK(at::equal(found.input, wanted.input.narrow(2, 4, 4)));
      CHECK(at::equal(found.target, wanted.target.narrow(2, 4, 4)));
      CHECK(found.samples == wanted.samples);
      CHECK(found.samples == all->order().samples(step));
    }
    if (choice.kind == "inline") CHECK(3 * own->counts().read_bytes == all->counts().read_bytes);
  }
}

}  // namespace isobar::test_bands
