#include "core/files.h"
#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "fields/year_file_writer.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

TEST_CASE("the writer describes the channels and takes its name only at the end") {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  const YearFile file(folder / "2000.h5");
  CHECK(file.string_attribute("channel_names") == std::vector<std::string>{"u10m", "v10m", "t2m"});
  CHECK(file.string_attribute("units") == std::vector<std::string>{"m s-1", "m s-1", "K"});
  CHECK(file.string_attribute("source") == std::vector<std::string>{"a test"});
  CHECK(file.string_attribute("nothing").empty());
  const std::vector<float> record(kRecord);
  {
    YearFileWriter writer(folder / "2001.h5", kShape, {});
    writer.append(record);
    CHECK_THAT(error_of([&] { writer.finish(); }, Exit::failed), says("1 of 5"));
    CHECK_THAT(error_of([&] { writer.append(std::span(record).subspan(1)); }, Exit::failed),
               says("does not fit"));
    for (int t = 0; t < 4; ++t) writer.append(record);
    CHECK_THAT(error_of([&] { writer.append(record); }, Exit::failed), says("does not fit"));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a part of a record that is not there is refused") {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  const YearFile file(folder / "2000.h5");
  CHECK(file.path() == folder / "2000.h5");
  CHECK(file.record_bytes() == kRecord * 4);
  CHECK(record_of(file, 3, 8, 16) == wanted_record(kShape, 3, 8, 16));
  std::vector<float> record(kRecord);
  CHECK_THAT(error_of([&] { file.read_record(5, 8, 16, record); }, Exit::failed), says("record 5"));
  CHECK_THAT(error_of([&] { file.read_record(-1, 8, 16, record); }, Exit::failed), says("record -1"));
  CHECK_THAT(error_of([&] { file.read_record(0, 9, 16, record); }, Exit::failed), says("9 x 16"));
  CHECK_THAT(error_of([&] { file.read_record(0, 8, 0, record); }, Exit::failed), says("8 x 0"));
  CHECK_THAT(error_of([&] { file.read_record(0, 4, 16, record); }, Exit::failed), says("4 x 16"));
}

TEST_CASE("year files are those whose names end in a year, sorted") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { year_files(folder.path()); }), says("no year files") && says("1999.h5"));
  CHECK_THAT(error_of([&] { year_files(folder / "train"); }), says("no such data folder"));
  for (const char* name :
       {"era5_2001.h5", "1999.h5", "2000.h5", "2000.h5.part", "stats.h5", "2002.nc", "year200.h5"}) {
    write_file_whole(folder / name, "");
  }
  const std::vector<std::filesystem::path> files = year_files(folder.path());
  REQUIRE(files.size() == 3);
  CHECK(files[0].filename() == "1999.h5");
  CHECK(files[2].filename() == "era5_2001.h5");
}
