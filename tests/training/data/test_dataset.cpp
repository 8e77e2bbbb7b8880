#include <fstream>
#include <limits>

#include "core/files.h"
#include "data/dataset.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

Dataset open_train(const SmallData& data, const TempFolder& folder, std::int64_t limit = 0) {
  return {data.config(), folder.path(), "train", limit};
}

float normalised(const SmallData&, std::int64_t year, std::int64_t record, std::int64_t c, std::int64_t y,
                 std::int64_t x) {
  const float mean = static_cast<float>(c) * 10 + 1;
  const float spread = c == 0 ? 2.0F : static_cast<float>(c) + 2;
  return (SmallData::value(year, record, c, y, x) - mean) / spread;
}

}  // namespace

TEST_CASE("a sample is the normalised record and the one dt later, to the last bit") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset = open_train(data, folder);
  CHECK(dataset.size() == 24);
  std::vector<float> input(dataset.shape().values());
  std::vector<float> target(dataset.shape().values());
  dataset.read_sample(12 + 5, input, target);
  std::size_t n = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < 8; ++y) {
      for (std::int64_t x = 0; x < 16; ++x, ++n) {
        REQUIRE(input[n] == normalised(data, 1, 5, c, y, x));
        REQUIRE(target[n] == normalised(data, 1, 6, c, y, x));
      }
    }
  }
}

TEST_CASE("a smaller grid is cropped from the top left") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  DataConfig config = data.config();
  config.grid = {4, 8};
  const Dataset dataset(config, folder.path(), "train", 0);
  std::vector<float> input(dataset.shape().values());
  std::vector<float> target(dataset.shape().values());
  dataset.read_sample(3, input, target);
  CHECK(input[(2 * 4 + 3) * 8 + 7] == normalised(data, 0, 3, 2, 3, 7));
}

TEST_CASE("a limit caps the samples, and never invents any") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  CHECK(open_train(data, folder, 5).size() == 5);
  CHECK(open_train(data, folder, 500).size() == 24);
}

TEST_CASE("data that does not fit is refused with file and numbers") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const auto with = [&](auto change) {
    DataConfig config = data.config();
    change(config);
    return error_of([&] { const Dataset dataset(config, folder.path(), "train", 0); });
  };
  CHECK_THAT(with([](DataConfig& c) { c.channels = 20; }),
             says("3 channels") && says("is 20") && says("2001.h5") && says("data.channels=3"));
  CHECK_THAT(with([](DataConfig& c) {
               c.grid = {16, 16};
             }),
             says("8 x 16") && says("16 x 16") && says("2001.h5"));
  CHECK_THAT(with([](DataConfig& c) { c.dt = 5; }), says("too short") && says("12 records"));
  CHECK_THAT(error_of([&] { const Dataset d(data.config(), folder / "nowhere", "train", 0); }),
             says("no such data folder") && says("nowhere"));
  CHECK_THAT(error_of([&] { const Dataset d(data.config(), folder.path(), "test", 0); }), says("test"));
}

TEST_CASE("later years may be longer, never shorter") {
  const TempFolder folder;
  SmallData data;
  data.write(folder.path());
  data.records = 13;
  data.write_year(folder / "train/2003.h5", 2);
  CHECK(open_train(data, folder).size() == 36);
  data.records = 11;
  data.write_year(folder / "train/2004.h5", 3);
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("11 records") && says("2004.h5"));
}

TEST_CASE("statistics of another shape, not finite, or without spread are refused") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  data.write_stats(folder.path(), 0.0F);
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("channel 0 is 0") && says("global_stds.npy"));
  data.write_stats(folder.path(), -1.0F);
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("channel 0 is -1"));
  data.write_stats(folder.path(), std::numeric_limits<float>::quiet_NaN());
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("not a finite number"));
  SmallData other;
  other.channels = 4;
  other.write_stats(folder.path());
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("[1, 4, 1, 1]") && says("[1, 3, 1, 1]"));
  std::filesystem::remove(folder / "stats/global_means.npy");
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("global_means.npy"));
}

TEST_CASE("a value that is not finite is named by file and place") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset = open_train(data, folder);
  const auto poison = [&](float value) {
    const auto bytes = std::filesystem::file_size(folder / "train/2001.h5");
    const auto begin = bytes - 12 * 3 * 8 * 16 * 4;  // contiguous, and the last thing in the file
    std::fstream file(folder / "train/2001.h5", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(begin + (((4 * 3 + 1) * 8 + 6) * 16 + 9) * 4));
    file.write(reinterpret_cast<const char*>(&value), 4);
  };
  std::vector<float> input(dataset.shape().values());
  std::vector<float> target(dataset.shape().values());
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    poison(value);
    CHECK_THAT(error_of([&] { dataset.read_sample(4, input, target); }, Exit::failed),
               says("2001.h5") && says("record 4, channel 1") && says("row 6, column 9"));
    CHECK_THAT(error_of([&] { dataset.read_sample(3, input, target); }, Exit::failed), says("record 4"));
  }
  dataset.read_sample(5, input, target);
}

TEST_CASE("the climatology is cropped and normalised, may be missing, and is checked") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  CHECK(open_train(data, folder).climatology().values.empty());
  std::vector<float> means(3 * 9 * 20);
  const auto value = [](std::size_t i) {
    return static_cast<float>(i / 180 * 10 + 1) + static_cast<float>(i % 180) / 90 - 1;
  };
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = value(i);
  const auto write = [&](std::int64_t channels) {
    write_npy(folder / "stats/time_means.npy", std::array<std::int64_t, 4>{1, channels, 27 / channels, 20},
              means);
  };
  write(3);
  const Dataset dataset = open_train(data, folder);
  CHECK(dataset.climatology().values[(2 * 8 + 7) * 16 + 15] == (value((2 * 9 + 7) * 20 + 15) - 21) / 4);
  CHECK(dataset.climatology().fault.empty());
  write(1);
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("[1, 1, 27, 20]") && says("[1, 3, 8, 16]"));
  means[5] = std::numeric_limits<float>::infinity();
  write(3);
  CHECK_THAT(error_of([&] { open_train(data, folder); }), says("time_means.npy") && says("not a finite"));
}

TEST_CASE("a climatology that cannot be that of the data is left out, and named") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const auto fault_of = [&](const std::array<float, 3>& means) {
    std::vector<float> values;
    for (const float mean : means) values.insert(values.end(), 8 * 16, mean);
    write_npy(folder / "stats/time_means.npy", std::array<std::int64_t, 4>{1, 3, 8, 16}, values);
    const Dataset dataset = open_train(data, folder);
    CHECK(dataset.climatology().values.empty() == !dataset.climatology().fault.empty());
    return dataset.climatology().fault;
  };
  CHECK(fault_of({1, 11, 21}).empty());
  CHECK(fault_of({2.5F, 8.5F, 24}).empty());  // within the spreads 2, 3 and 4
  CHECK_THAT(fault_of({0, 0, 0}), says("all zeros in channel 1") && says("mean 11"));
  CHECK_THAT(fault_of({1, 11, 30}), says("30 in the mean in channel 2"));
}

TEST_CASE("a year file cut short while it is read is an error, not a crash") {
  const TempFolder folder;
  const SmallData data;
  data.write(folder.path());
  const Dataset dataset = open_train(data, folder);
  std::filesystem::resize_file(folder / "train/2001.h5", 6000);
  std::vector<float> input(dataset.shape().values());
  std::vector<float> target(dataset.shape().values());
  CHECK_THAT(error_of([&] { dataset.read_sample(10, input, target); }, Exit::failed),
             says("has 6000 bytes") && says("2001.h5"));
}
