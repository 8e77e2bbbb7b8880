// Records come back bit for bit, however they lie in the file.
#include <cmath>
#include <thread>

#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_layouts {

namespace {

enum class Crops {
  pairs,  ///< each height and each width with every record; from four records on, each height with each width
  product  ///< all of them with every record
};

/// Every record whole and cropped to every kind of corner.
void check_all_records(const YearFile& file, const std::array<std::int64_t, 4>& shape, Crops crops) {
  REQUIRE(file.shape() == shape);
  const std::array heights = {shape[2], shape[2] - 1, shape[2] / 2, std::int64_t{1}};
  const std::array widths = {shape[3], shape[3] - 1, shape[3] / 2, std::int64_t{1}};
  for (std::int64_t time = 0; time < shape[0]; ++time) {
    for (std::size_t n = 0; n < heights.size() * widths.size(); ++n) {
      const std::size_t row = n / widths.size();
      const std::size_t column = n % widths.size();
      if (crops == Crops::pairs && (row + static_cast<std::size_t>(time)) % widths.size() != column) continue;
      INFO("record " << time << ", " << heights[row] << " x " << widths[column]);
      REQUIRE(record_of(file, time, heights[row], widths[column]) ==
              wanted_record(shape, time, heights[row], widths[column]));
    }
  }
}

void check_layout(const Layout& layout, FieldStorage storage, Crops crops = Crops::product) {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", layout);
  const YearFile file(folder / "2000.h5");
  CHECK(file.storage() == storage);
  check_all_records(file, layout.shape, crops);
}

constexpr std::array<std::int64_t, 4> kOdd = {7, 5, 18, 35};  // no chunk below divides it

void check_chunks(Crops crops) {
  using Chunk = std::array<std::int64_t, 4>;
  for (const Chunk& chunk :
       {Chunk{1, 1, 18, 35}, Chunk{1, 5, 18, 35}, Chunk{3, 1, 5, 9}, Chunk{2, 3, 18, 35}, Chunk{1, 2, 7, 35},
        Chunk{1, 2, 18, 11}, Chunk{7, 5, 18, 35}, Chunk{1, 1, 1, 35}, Chunk{7, 1, 1, 1}}) {
    for (const bool latest : {false, true}) {
      for (const bool growing : {false, true}) {
        INFO(chunk[0] << " " << chunk[1] << " " << chunk[2] << " " << chunk[3] << ", latest " << latest
                      << ", growing " << growing);
        check_layout({.chunk = chunk, .latest = latest, .growing = growing, .shape = kOdd},
                     FieldStorage::chunked, crops);
      }
    }
  }
  check_layout({.chunk = Chunk{2, 3, 7, 9}, .user_block = 512, .shape = kOdd}, FieldStorage::chunked, crops);
  check_layout({.chunk = Chunk{20, 3, 7, 9}, .growing = true, .shape = kOdd}, FieldStorage::chunked, crops);
}

}  // namespace

TEST_CASE("contiguous records, at the start of the file and behind a user block") {
  check_layout({.shape = kOdd}, FieldStorage::contiguous);
  check_layout({.latest = true, .shape = kOdd}, FieldStorage::contiguous);
  check_layout({.user_block = 1024, .shape = kOdd}, FieldStorage::contiguous);
}

TEST_CASE("uncompressed chunks of every shape, in every index that the library has") {
  check_chunks(Crops::pairs);
}

TEST_CASE("uncompressed chunks of every shape, every record in every crop", "[.nightly]") {
  check_chunks(Crops::product);
}

TEST_CASE("chunks as the weather tutorial's converters make them") {
  check_layout({.chunk = std::array<std::int64_t, 4>{8, 1, 90, 90}, .shape = {10, 2, 180, 270}},
               FieldStorage::chunked);
}

TEST_CASE("compressed records come from a process of their own") {
  for (const bool shuffle : {false, true}) {
    check_layout(
        {.chunk = std::array<std::int64_t, 4>{2, 2, 7, 9}, .gzip = 4, .shuffle = shuffle, .shape = kOdd},
        FieldStorage::compressed);
  }
  check_layout(
      {.chunk = std::array<std::int64_t, 4>{1, 5, 18, 35}, .shuffle = true, .latest = true, .shape = kOdd},
      FieldStorage::compressed);
}

TEST_CASE("a compressed record of more channels than one answer holds") {
  const TempFolder folder;
  const std::array<std::int64_t, 4> shape = {1, 5, 1800, 1800};  // 65 MB: two answers
  // Any filter makes it a compressed file; deflate would take a second.
  write_foreign(folder / "2000.h5",
                {.chunk = std::array<std::int64_t, 4>{1, 2, 1800, 1800}, .shuffle = true, .shape = shape});
  const YearFile file(folder / "2000.h5");
  CHECK(file.storage() == FieldStorage::compressed);
  CHECK((record_of(file, 0, 1800, 1800) == wanted_record(shape, 0, 1800, 1800)));
}

TEST_CASE("chunks that were never written hold the fill value, or nothing that passes for a number") {
  const TempFolder folder;
  for (const int gzip : {0, 1}) {
    const Layout layout{
        .chunk = std::array<std::int64_t, 4>{1, 3, 4, 16}, .gzip = gzip, .skip_times = {1, 4}, .fill = 7.5F};
    write_foreign(folder / "2000.h5", layout);
    const YearFile file(folder / "2000.h5");
    CHECK(record_of(file, 0, 8, 16) == wanted_record(kShape, 0, 8, 16));
    CHECK(record_of(file, 1, 8, 16) == std::vector<float>(kRecord, 7.5F));
    CHECK(record_of(file, 4, 3, 5) == std::vector<float>(45, 7.5F));
    Layout unfilled = layout;
    unfilled.never_fill = true;
    write_foreign(folder / "2001.h5", unfilled);
    const YearFile other(folder / "2001.h5");
    for (const float value : record_of(other, 1, 8, 16)) REQUIRE(std::isnan(value));
    CHECK(record_of(other, 3, 8, 16) == wanted_record(kShape, 3, 8, 16));
  }
}

TEST_CASE("texts of other programs are read, of fixed and of variable length") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", {}, [](hid_t, hid_t dataset) {
    const hsize_t count = 3;
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t variable = H5Tcopy(H5T_C_S1);
    H5Tset_size(variable, H5T_VARIABLE);
    const hid_t names = H5Acreate2(dataset, "channel_names", variable, space, H5P_DEFAULT, H5P_DEFAULT);
    const std::array<const char*, 3> words = {"u10m", "", "t2m\x1b[31m"};
    H5Awrite(names, variable, words.data());
    const hid_t padded = H5Tcopy(H5T_FORTRAN_S1);
    H5Tset_size(padded, 4);
    const hid_t units = H5Acreate2(dataset, "units", padded, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(units, padded, "m/s m/s K   ");
    const hid_t numbers = H5Acreate2(dataset, "numbers", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    for (const hid_t attribute : {names, units, numbers}) H5Aclose(attribute);
    H5Sclose(space);
  });
  const YearFile file(folder / "2000.h5");
  CHECK(file.string_attribute("channel_names") == std::vector<std::string>{"u10m", "", "t2m?[31m"});
  CHECK(file.string_attribute("units") == std::vector<std::string>{"m/s", "m/s", "K"});
  CHECK(file.string_attribute("numbers").empty());
}

TEST_CASE("several threads read the same files") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", {.shape = kOdd});
  write_foreign(folder / "2001.h5", {.chunk = std::array<std::int64_t, 4>{2, 3, 7, 9}, .shape = kOdd});
  write_foreign(folder / "2002.h5",
                {.chunk = std::array<std::int64_t, 4>{2, 3, 7, 9}, .gzip = 1, .shape = kOdd});
  const std::vector<YearFile> files = open_year_files(year_files(folder.path()));
  REQUIRE(files.size() == 3);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < wrong.size(); ++n) {
    threads.emplace_back([&, n] {
      for (std::int64_t i = 0; i < 60; ++i) {
        const std::int64_t time = (i + static_cast<std::int64_t>(n)) % kOdd[0];
        const YearFile& file = files[static_cast<std::size_t>(i) % 3];
        wrong[n] += record_of(file, time, 17, 33) == wanted_record(kOdd, time, 17, 33) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

}  // namespace isobar::test_layouts
