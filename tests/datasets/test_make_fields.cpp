// The embedded data set: the same everywhere, stable, consistent, and worth forecasting.
#include <array>
#include <cmath>

#include "core/files.h"
#include "fields/npy.h"
#include "fields/year_file.h"
#include "make_fields/channels.h"
#include "make_fields/flow.h"
#include "make_fields/make_fields.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

FieldsRequest request(const std::filesystem::path& folder, std::int64_t rows = 48,
                      std::int64_t samples = 32) {
  return {.folder = folder,
          .rows = rows,
          .columns = 2 * rows,
          .samples = samples,
          .seed = 1,
          .command = "a test"};
}

std::string make(const FieldsRequest& wanted) {
  std::filesystem::create_directories(wanted.folder);
  make_fields(wanted, [](std::int64_t, std::int64_t) { return true; });
  const std::string sheet = read_text_file(wanted.folder / "dataset.toml", 10'000);
  return sheet.substr(sheet.find("checksum = ") + 12, 16);
}

std::vector<float> read(const YearFile& file, std::int64_t record) {
  std::vector<float> out(static_cast<std::size_t>(file.record_bytes() / 4));
  file.read_record(record, file.shape()[2], file.shape()[3], out);
  return out;
}

/// Of one seed, made once: 48 x 96, 32 training records.
struct Made {
  TempFolder folder;
  std::string checksum = make(request(folder.path()));
};
const Made& made() {
  static const Made once;
  return once;
}

/// A flow of 48 x 96: how it was when its eddies were full grown, and what its energy was when.
struct Grown {
  Grown() {
    Flow flow(48, 96, 1);
    flow.advance(2);
    young = flow.energy();
    flow.advance(Flow::kSpinUpTime - 2);
    state = flow.state();
    for (double& energy : later) {
      flow.advance(5);
      energy = flow.energy();
    }
  }
  double young;
  FlowState state;
  std::array<double, 10> later{};
};
const Grown& grown() {
  static const Grown once;
  return once;
}

double root_mean_square(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("the same weather is made every time, and another seed makes another") {
  const TempFolder folder;
  // On every x86-64 machine: the flow uses plain IEEE arithmetic and a transform library that does not look
  // at the processor.
  CHECK(made().checksum == "e3c316cf8a0e945d");
  const std::string checksum = make(request(folder / "one", 24));
  CHECK(checksum == make(request(folder / "again", 24)));
  FieldsRequest other = request(folder / "other", 24);
  other.seed = 2;
  CHECK(checksum != make(other));
}

TEST_CASE("eddies grow and stay within bounds") {
  CHECK(grown().young < 0.01);
  for (const double energy : grown().later) {
    CHECK(energy > 1);
    CHECK(energy < 30);
  }
}

TEST_CASE("winds are what the geopotential's slope says: the flow is geostrophic") {
  const std::vector<float> record = ChannelMaker(48, 96).derive(grown().state, 0);
  const auto at = [&](std::size_t channel, std::size_t row, std::size_t column) {
    return static_cast<double>(record[(channel * 48 + row) * 96 + column]);
  };
  // v500 = (dz500/dx) / (f0 L / wind): 1600 m2/s2 and 5 m/s a unit, so 320 s-1 m; row by row the mean state
  // drops out.
  const double dx = Flow::kLengthX / 96;
  double error = 0;
  double size = 0;
  for (std::size_t row = 5; row < 43; ++row) {
    for (std::size_t i = 1; i < 95; ++i) {
      const double slope = (at(14, row, i + 1) - at(14, row, i - 1)) / (2 * dx);
      error += std::pow(at(13, row, i) - slope / 320, 2);
      size += std::pow(at(13, row, i), 2);
    }
  }
  CHECK(error < 1e-4 * size);
}

TEST_CASE("files have the tutorial's layout, and the statistics are theirs") {
  const TempFolder& folder = made().folder;
  const YearFile one(folder / "train/2001.h5");
  const YearFile two(folder / "train/2002.h5");
  CHECK(one.shape() == std::array<std::int64_t, 4>{16, 20, 48, 96});
  CHECK(YearFile(folder / "valid/2003.h5").shape()[0] == 8);
  CHECK(YearFile(folder / "test/2004.h5").shape()[0] == 8);
  CHECK(one.storage() == FieldStorage::contiguous);
  CHECK(one.string_attribute("channel_names")[0] == "u10m");
  CHECK(one.string_attribute("channel_names")[2] == "t2m");
  CHECK(one.string_attribute("units")[3] == "Pa");
  const NpyArray means = read_npy(folder / "stats/global_means.npy");
  const NpyArray stds = read_npy(folder / "stats/global_stds.npy");
  const NpyArray climate = read_npy(folder / "stats/time_means.npy");
  CHECK(means.shape == std::vector<std::int64_t>{1, 20, 1, 1});
  CHECK(climate.shape == std::vector<std::int64_t>{1, 20, 48, 96});
  for (const std::size_t channel : {0U, 3U, 14U, 19U}) {
    double sum = 0;
    double square = 0;
    double pixel = 0;
    for (std::int64_t t = 0; t < 32; ++t) {
      const std::vector<float> record = read(t < 16 ? one : two, t % 16);
      for (std::size_t p = 0; p < 48 * 96; ++p) {
        const double value = static_cast<double>(record[channel * 48 * 96 + p]);
        sum += value;
        square += value * value;
        pixel += p == 777 ? value : 0;
      }
    }
    const double count = 32.0 * 48 * 96;
    const double mean = sum / count;
    CHECK(static_cast<double>(means.values[channel]) == Approx(mean).epsilon(1e-6));
    CHECK(static_cast<double>(stds.values[channel]) ==
          Approx(std::sqrt(square / count - mean * mean)).epsilon(1e-4));
    CHECK(static_cast<double>(climate.values[channel * 48 * 96 + 777]) == Approx(pixel / 32).epsilon(1e-6));
  }
}

TEST_CASE("tomorrow is neither today nor today moved along") {
  const TempFolder& folder = made().folder;
  const YearFile file(folder / "valid/2003.h5");
  const std::vector<float> today = read(file, 3);
  const std::vector<float> tomorrow = read(file, 4);
  const NpyArray stds = read_npy(folder / "stats/global_stds.npy");
  for (const std::size_t channel : {0U, 13U, 14U}) {  // u10m, v500, z500
    INFO(channel);
    double persistence = 0;
    double best = 1e9;
    for (int shift = -8; shift <= 8; ++shift) {
      std::vector<float> error;
      for (std::size_t row = 0; row < 48; ++row) {
        for (std::size_t i = 0; i < 96; ++i) {
          const std::size_t from = (i + static_cast<std::size_t>(96 - shift)) % 96;
          error.push_back(tomorrow[(channel * 48 + row) * 96 + i] - today[(channel * 48 + row) * 96 + from]);
        }
      }
      const double size = root_mean_square(error) / static_cast<double>(stds.values[channel]);
      if (shift == 0) persistence = size;
      best = std::min(best, size);
    }
    CHECK(persistence > 0.1);
    CHECK(persistence < 0.9);
    CHECK(best > 0.6 * persistence);
  }
}

TEST_CASE("values stay within what the quantities allow") {
  const std::vector<float> record = read(YearFile(made().folder / "train/2002.h5"), 7);
  const auto range = [&](std::size_t channel) {
    const auto begin = record.begin() + static_cast<std::ptrdiff_t>(channel * 48 * 96);
    const auto [least, most] = std::minmax_element(begin, begin + 48 * 96);
    return std::pair(*least, *most);
  };
  CHECK(range(2).first > 230);  // t2m, K
  CHECK(range(2).second < 330);
  CHECK(range(4).first > 85'000);  // msl, Pa
  CHECK(range(4).second < 115'000);
  for (const std::size_t humidity : {17U, 18U}) {
    CHECK(range(humidity).first >= 0);
    CHECK(range(humidity).second <= 100);
  }
  CHECK(range(19).first > 0);  // tcwv
}

TEST_CASE("large grids are interpolated from a simulated one, smoothly") {
  const FlowState& state = grown().state;
  const std::vector<Complex> fine = interpolate(state.psi, 48, 96, 240, 480);
  double difference = 0;
  double size = 0;
  for (std::size_t j = 0; j < 48; ++j) {
    for (std::size_t i = 0; i < 96; ++i) {
      difference = std::max(difference,
                            static_cast<double>(std::abs(fine[5 * j * 480 + 5 * i] - state.psi[j * 96 + i])));
      size = std::max(size, static_cast<double>(std::abs(state.psi[j * 96 + i])));
    }
  }
  CHECK(difference < 1e-4 * size);
  const std::vector<float> record = ChannelMaker(240, 480).derive(state, 0);
  CHECK(record.size() == 20U * 240 * 480);
}

TEST_CASE("a request that makes no sense is refused, a stop keeps its word") {
  const TempFolder folder;
  FieldsRequest wanted = request(folder.path(), 50);
  CHECK_THAT(error_of([&] { check_request(wanted); }), says("50 x 100"));
  wanted = request(folder.path(), 48, 15);
  CHECK_THAT(error_of([&] { check_request(wanted); }), says("15 samples"));
  wanted = request(folder.path(), 24);
  CHECK_THROWS_AS(make_fields(wanted, [](std::int64_t done, std::int64_t) { return done < 5; }), Stopped);
  CHECK_FALSE(std::filesystem::exists(folder / "dataset.toml"));
}
