// Reading and normalising at once gives the bits of doing one after the other, wherever fields come from.
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "core/clock.h"
#include "data/dataset.h"
#include "fields/foreign_files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/set_clock.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

namespace isobar::test_read_normalised {

namespace fs = std::filesystem;

namespace {

using Chunk = std::array<std::int64_t, 4>;

/// A field is above the size from which stores are streamed; a plane is three pieces.
constexpr std::array<std::int64_t, 4> kLarge = {3, 8, 200, 700};
constexpr std::array<std::int64_t, 4> kSmall = {4, 3, 18, 35};

struct Written {
  explicit Written(const Layout& layout) : shape(layout.shape) {
    fs::create_directories(folder / "train");
    write_foreign(folder / "train/2000.h5", layout);
    SmallData stats;
    stats.channels = shape[1];
    stats.write_stats(folder.path());
  }
  DataConfig config(std::int64_t rows, std::int64_t columns) const {
    DataConfig out;
    out.channels = shape[1];
    out.grid = {rows, columns};
    return out;
  }
  Dataset open(const DataConfig& config) const { return {config, folder.path(), "train", 0}; }
  Dataset open() const { return open(config(shape[2], shape[3])); }

  TempFolder folder;
  std::array<std::int64_t, 4> shape;
};

std::vector<float> one_after_the_other(const Dataset& dataset, FieldPlace place) {
  std::vector<float> out(dataset.shape().values());
  FillCost cost;
  dataset.read_raw(place, out, cost);
  dataset.normalise_field(place, out, cost);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Fields of the data set into one, two and three places, of which some begin within a cache line.
void check_equal(const Dataset& dataset, std::int64_t records, std::int64_t first = 0) {
  for (FieldPlace place{0, first}; place.record < records; ++place.record) {
    const std::vector<float> wanted = one_after_the_other(dataset, place);
    for (std::size_t count = 1; count <= 3; ++count) {
      std::vector<std::vector<float>> memory(count, std::vector<float>(wanted.size() + 3, -1.0F));
      std::vector<float*> outs;
      for (std::size_t n = 0; n < count; ++n) outs.push_back(memory[n].data() + n);
      FillCost cost;
      dataset.read_normalised(place, outs, cost);
      CHECK(cost.read_bytes == static_cast<std::int64_t>(wanted.size() * sizeof(float)));
      for (std::size_t n = 0; n < count; ++n) {
        INFO("record " << place.record << ", place " << n << " of " << count);
        REQUIRE(same_bits({outs[n], outs[n] + wanted.size()}, wanted));
        REQUIRE(std::count(memory[n].begin(), memory[n].begin() + static_cast<std::ptrdiff_t>(n), -1.0F) ==
                static_cast<std::ptrdiff_t>(n));
        REQUIRE(std::count(memory[n].end() - static_cast<std::ptrdiff_t>(3 - n), memory[n].end(), -1.0F) ==
                static_cast<std::ptrdiff_t>(3 - n));
      }
    }
  }
}

void check_layout(const Layout& layout) {
  const Written written(layout);
  const std::int64_t rows = layout.shape[2];
  const std::int64_t columns = layout.shape[3];
  for (const auto& [height, width] : {std::pair(rows, columns),
                                      {rows - 1, columns},
                                      {rows, columns - 1},
                                      {rows / 2, columns / 2},
                                      {1L, 1L}}) {
    INFO(height << " x " << width);
    check_equal(written.open(written.config(height, width)), layout.shape[0]);
  }
}

/// Writes `value` into the last dataset of the file, which is contiguous and the last thing in it.
void poke(const fs::path& path, const std::array<std::int64_t, 4>& shape, std::int64_t index, float value) {
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(bytes - (shape[0] * shape[1] * shape[2] * shape[3] - index) * 4);
  file.write(reinterpret_cast<const char*>(&value), 4);
}

std::string fused_error(const Dataset& dataset, FieldPlace place, std::size_t count) {
  std::vector<std::vector<float>> memory(count, std::vector<float>(dataset.shape().values()));
  std::vector<float*> outs;
  for (std::vector<float>& one : memory) outs.push_back(one.data());
  FillCost cost;
  return error_of([&] { dataset.read_normalised(place, outs, cost); }, Exit::failed);
}

}  // namespace

TEST_CASE("contiguous files, whole and cropped, with fields in several pieces") {
  check_layout({.shape = kSmall});
  check_layout({.shape = kLarge});
}

TEST_CASE("chunks of every shape, with fields in several pieces") {
  for (const Chunk& chunk : {Chunk{1, 3, 18, 35}, Chunk{3, 2, 5, 9}, Chunk{1, 1, 1, 35}})
    check_layout({.chunk = chunk, .shape = kSmall});
  for (const Chunk& chunk : {Chunk{1, 1, 200, 700}, Chunk{1, 8, 200, 700}, Chunk{2, 1, 90, 90},
                             Chunk{1, 3, 64, 700}, Chunk{1, 2, 150, 350}})
    check_layout({.chunk = chunk, .shape = kLarge});
}

TEST_CASE("compressed files come whole, and the same") {
  check_layout({.chunk = Chunk{2, 2, 7, 9}, .gzip = 1, .shape = kSmall});
  check_layout({.chunk = Chunk{1, 2, 100, 700}, .gzip = 1, .shape = kLarge});
}

TEST_CASE("chunks that were never written hold the fill value, normalised") {
  check_layout({.chunk = Chunk{1, 3, 7, 35}, .skip_times = {1, 2}, .fill = 7.5F, .shape = kSmall});
}

TEST_CASE("fields that lie in memory, and made-up ones") {
  for (const auto& shape : {kSmall, kLarge}) {
    const Written written({.shape = shape});
    for (const DataSource source : {DataSource::memory, DataSource::synthetic}) {
      DataConfig config = written.config(shape[2] - 1, shape[3]);
      config.source = source;
      check_equal(written.open(config), shape[0], 1);  // no sample needs record 0
    }
  }
}

TEST_CASE("several threads read the same fields into places of their own") {
  const Written written({.chunk = Chunk{1, 3, 64, 700}, .shape = kLarge});
  const Dataset dataset = written.open();
  std::vector<std::vector<float>> wanted;
  for (FieldPlace place; place.record < 3; ++place.record)
    wanted.push_back(one_after_the_other(dataset, place));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < wrong.size(); ++n) {
    threads.emplace_back([&, n] {
      std::vector<float> out(dataset.shape().values());
      for (std::size_t i = 0; i < 9; ++i) {
        const std::size_t record = (n + i) % 3;
        FillCost cost;
        std::array<float*, 1> outs = {out.data()};
        dataset.read_normalised({0, static_cast<std::int64_t>(record)}, outs, cost);
        wrong[n] += same_bits(out, wanted[record]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("a value that is not finite is told as it is when reading and normalising are apart") {
  for (const auto& shape : {kSmall, kLarge}) {
    const std::int64_t field = shape[1] * shape[2] * shape[3];
    for (const std::int64_t place : {std::int64_t{0}, field / 2 + 3, field - 1}) {
      const Written written({.shape = shape});
      const Dataset dataset = written.open();
      for (const float value :
           {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        poke(written.folder / "train/2000.h5", shape, field + place, value);
        const std::string apart = error_of([&] { one_after_the_other(dataset, {0, 1}); }, Exit::failed);
        CHECK_THAT(apart, says("record 1, channel") && says("2000.h5"));
        CHECK(fused_error(dataset, {0, 1}, 1) == apart);
        CHECK(fused_error(dataset, {0, 1}, 2) == apart);
      }
      check_equal(dataset, 1);  // its neighbour is good
    }
  }
}

TEST_CASE("of several bad values the first is told, though they lie in one piece") {
  const Written written({.shape = kLarge});
  const Dataset dataset = written.open();
  for (const std::int64_t at : {5 * 140'000 + 70, 5 * 140'000 + 71, 6 * 140'000})
    poke(written.folder / "train/2000.h5", kLarge, at, std::numeric_limits<float>::infinity());
  CHECK_THAT(fused_error(dataset, {0, 0}, 2), says("record 0, channel 5") && says("row 0, column 70"));
}

TEST_CASE("a file that is cut or replaced is noticed, also in the middle of a field") {
  for (const bool chunked : {false, true}) {
    Layout layout{.shape = kLarge};
    if (chunked) layout.chunk = Chunk{1, 3, 64, 700};
    const Written written(layout);
    const fs::path path = written.folder / "train/2000.h5";
    const std::vector<YearFile> files = open_year_files({path});
    const auto source = make_file_source(files, {kLarge[1], kLarge[2], kLarge[3]});
    const std::int64_t rows = source->rows_at_once({});
    CHECK(rows > 1);
    std::vector<float> tile(static_cast<std::size_t>(rows * kLarge[3]));
    source->read_rows({0, 1}, 0, 0, rows, tile);
    const Dataset dataset = written.open();
    write_foreign(path.string() + ".new", layout);
    fs::rename(path.string() + ".new", path);
    CHECK_THAT(error_of(
                   [&] {
                     source->read_rows({0, 1}, 7, kLarge[2] - rows, rows, tile);
                   },
                   Exit::failed),
               says("record 1 cannot be read") && says("another put in its place") && says("2000.h5"));
    CHECK_THAT(fused_error(dataset, {0, 2}, 1), says("record 2 cannot be read") && says("in its place"));
    const Dataset again = written.open();
    fs::resize_file(path, 2'000'000);
    CHECK_THAT(fused_error(again, {0, 1}, 1), says("has 2000000 bytes") && says("2000.h5"));
  }
}

TEST_CASE("a throttled source gives its bytes at its rate, and a stop ends the waiting") {
  const Written written({.shape = kLarge});
  for (const DataSource kind : {DataSource::files, DataSource::memory}) {
    DataConfig config = written.config(kLarge[2], kLarge[3]);
    config.source = kind;
    config.throttle_mb_per_s = 20;
    const Dataset dataset = written.open(config);
    std::vector<float> out(dataset.shape().values());
    std::array<float*, 1> outs = {out.data()};
    FillCost cost;
    {
      const EventClock clock(1);
      const std::int64_t begin_us = steady_us();
      dataset.read_normalised({0, 1}, outs, cost);
      const std::int64_t predicted_us = static_cast<std::int64_t>(out.size() * sizeof(float)) / 20;
      CHECK(steady_us() - begin_us == predicted_us);
      CHECK(cost.read_us == predicted_us);
    }
    CHECK(same_bits(out, one_after_the_other(written.open(), {0, 1})));

    config.throttle_mb_per_s = 1;
    const Dataset slow = written.open(config);
    SetClock clock;  // stands still
    std::stop_source stop;
    std::thread stopper([&] {
      clock.until_waiting(1);
      stop.request_stop();
    });
    FillCost part;
    slow.read_normalised({0, 1}, outs, part, stop.get_token());
    CHECK(part.read_bytes < cost.read_bytes);
    stopper.join();
  }
}

}  // namespace isobar::test_read_normalised
