// Rows of a plane by offset: the same values as the record, from every layout that has offsets.

#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_rows {

namespace fs = std::filesystem;

namespace {

using Chunk = std::array<std::int64_t, 4>;

constexpr std::array<std::int64_t, 4> kOdd = {5, 5, 18, 35};  // no chunk below divides it

std::vector<float> rows_of(const YearFile& file, std::int64_t time, std::int64_t channel, std::int64_t first,
                           std::int64_t rows, std::int64_t width) {
  std::vector<float> out(static_cast<std::size_t>(rows * width), -1.0F);
  file.read_rows(time, channel, first, rows, width, out);
  return out;
}

/// Every run of rows of every plane of one record.
void check_rows(const YearFile& file, const std::array<std::int64_t, 4>& shape, std::int64_t time,
                std::int64_t width) {
  const std::vector<float> record = wanted_record(shape, time, shape[2], width);
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    for (std::int64_t first = 0; first < shape[2]; ++first) {
      for (std::int64_t rows = 1; rows <= shape[2] - first; ++rows) {
        INFO("record " << time << ", channel " << channel << ", rows " << first << " + " << rows << ", width "
                       << width);
        const auto begin = record.begin() + (channel * shape[2] + first) * width;
        REQUIRE(rows_of(file, time, channel, first, rows, width) ==
                std::vector<float>(begin, begin + rows * width));
      }
    }
  }
}

enum class Widths {
  one_a_record,   ///< another one for each record of a file, so that each record and each width is there
  all_of_records  ///< all with each record
};

/// Rows of files of every layout, as wide as the file and narrower.
void check_layouts(Widths wanted) {
  const TempFolder folder;
  std::vector<Layout> layouts = {{.shape = kOdd}, {.user_block = 1024, .shape = kOdd}};
  for (const Chunk& chunk :
       {Chunk{1, 1, 18, 35}, Chunk{1, 5, 18, 35}, Chunk{3, 2, 5, 9}, Chunk{2, 3, 18, 35}, Chunk{1, 2, 7, 35},
        Chunk{1, 2, 18, 11}, Chunk{5, 1, 1, 35}, Chunk{4, 1, 1, 1}}) {
    layouts.push_back({.chunk = chunk, .shape = kOdd});
  }
  layouts.push_back({.chunk = Chunk{2, 3, 4, 8}, .growing = true, .skip_times = {2, 3}, .fill = 7.5F});
  for (std::size_t layout = 0; layout < layouts.size(); ++layout) {
    const std::array<std::int64_t, 4>& shape = layouts[layout].shape;
    write_foreign(folder / "2000.h5", layouts[layout]);
    const YearFile file(folder / "2000.h5");
    CHECK(file.chunk_rows() == (layouts[layout].chunk ? (*layouts[layout].chunk)[2] : 1));
    constexpr std::array<std::int64_t, 3> kTimes = {0, 1, 4};
    const std::array<std::int64_t, 3> widths = {shape[3], shape[3] - 1, 1};
    for (std::size_t n = 0; n < kTimes.size() * widths.size(); ++n) {
      const std::size_t time = n / widths.size();
      if (wanted == Widths::one_a_record && (time + layout) % widths.size() != n % widths.size()) continue;
      check_rows(file, shape, kTimes[time], widths[n % widths.size()]);
    }
  }
  const YearFile with_holes(folder / "2000.h5");
  CHECK(rows_of(with_holes, 2, 1, 3, 2, 5) == std::vector<float>(10, 7.5F));
}

}  // namespace

TEST_CASE("rows are those of the record, in contiguous files and in chunks of every shape") {
  check_layouts(Widths::one_a_record);
}

TEST_CASE("rows are those of the record, every record in every width", "[.nightly]") {
  check_layouts(Widths::all_of_records);
}

TEST_CASE("rows that are not there are refused") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", {});
  const YearFile file(folder / "2000.h5");
  std::vector<float> out(32);
  const auto refused = [&](std::int64_t time, std::int64_t channel, std::int64_t first, std::int64_t rows,
                           std::int64_t width) {
    out.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows * width, 0)));
    return error_of([&] { file.read_rows(time, channel, first, rows, width, out); }, Exit::failed);
  };
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK_THAT(refused(5, 0, 0, 2, 16), says("record 5") && says("5 records of 3 x 8 x 16") && says("2000.h5"));
  CHECK_THAT(refused(-1, 0, 0, 2, 16), says("record -1"));
  CHECK_THAT(refused(0, 3, 0, 2, 16), says("channel 3"));
  CHECK_THAT(refused(0, 0, 7, 2, 16), says("2 rows of 16 columns from row 7 on"));
  CHECK_THAT(refused(0, 0, huge, 2, 16), says("rows"));
  CHECK_THAT(refused(0, 0, -1, 2, 16), says("from row -1 on"));
  CHECK_THAT(refused(0, 0, 0, 0, 16), says("0 rows"));
  CHECK_THAT(refused(0, 0, 0, 2, 17), says("17 columns"));
  out.resize(31);
  CHECK_THAT(error_of([&] { file.read_rows(0, 0, 0, 2, 16, out); }, Exit::failed), says("2 rows"));
  write_foreign(folder / "2001.h5", {.chunk = Chunk{1, 3, 4, 16}, .gzip = 1});
  const YearFile compressed(folder / "2001.h5");
  out.resize(32);
  CHECK_THAT(error_of([&] { compressed.read_rows(0, 0, 0, 2, 16, out); }, Exit::failed),
             says("a compressed file"));
}

TEST_CASE(
    "rows of a file that was cut are an error with file and record; a look at the file finds all changes") {
  for (const Layout& layout :
       {Layout{}, Layout{.chunk = Chunk{1, 3, 4, 16}}, Layout{.chunk = Chunk{2, 1, 3, 5}}}) {
    const TempFolder folder;
    write_foreign(folder / "2000.h5", layout);
    const YearFile file(folder / "2000.h5");
    file.check_unchanged(4);
    fs::resize_file(folder / "2000.h5", 100);
    CHECK_THAT(error_of([&] { rows_of(file, 4, 2, 6, 2, 16); }, Exit::failed),
               says("record 4 cannot be read") && says("the file has 100 bytes") && says("2000.h5"));
    CHECK_THAT(error_of([&] { file.check_unchanged(4); }, Exit::failed),
               says("record 4 cannot be read") && says("the file has 100 bytes, it had "));
    write_foreign(folder / "2001.h5", layout);
    const YearFile other(folder / "2001.h5");
    fs::remove(folder / "2001.h5");
    CHECK_THAT(error_of([&] { other.check_unchanged(3); }, Exit::failed),
               says("record 3") && says("was removed"));
  }
}

}  // namespace isobar::test_rows
