#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "core/files.h"
#include "core/random.h"
#include "fields/year_file.h"
#include "fields/year_file_writer.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

constexpr std::array<std::int64_t, 4> kShape = {5, 3, 8, 16};
constexpr std::size_t kRecord = 3 * 8 * 16;

std::vector<float> all_values() {
  std::vector<float> out(5 * kRecord);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i) * 0.25F;
  return out;
}

struct Layout {
  hid_t type = H5T_IEEE_F32LE;
  int dims = 4;
  bool chunked = false;
  int gzip = 0;
  const char* name = "fields";
  bool external = false;
  bool write = true;
};

/// A file as another program would write it, through the HDF5 library.
void write_foreign(const std::filesystem::path& path, const Layout& layout) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const std::array<hsize_t, 4> extents = {5, 3, 8, 16};
  const std::array<hsize_t, 3> flat = {15, 8, 16};
  const hid_t space = layout.dims == 4 ? H5Screate_simple(4, extents.data(), nullptr)
                                       : H5Screate_simple(3, flat.data(), nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const std::array<hsize_t, 4> chunk = {2, 3, 4, 16};
  if (layout.chunked) H5Pset_chunk(properties, 4, chunk.data());
  if (layout.gzip > 0) H5Pset_deflate(properties, static_cast<unsigned>(layout.gzip));
  if (layout.external) H5Pset_external(properties, "/etc/hostname", 0, H5F_UNLIMITED);
  const hid_t dataset =
      H5Dcreate2(file, layout.name, layout.type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (layout.write) H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all_values().data());
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
}

void write_ours(const std::filesystem::path& path) {
  YearFileWriter writer(path, kShape,
                        {{"u10m", "v10m", "t2m"}, {"m s-1", "m s-1", "K"}, {90, -90}, {0, 180}, "a test"});
  const std::vector<float> values = all_values();
  for (std::size_t t = 0; t < 5; ++t) writer.append(std::span(values).subspan(t * kRecord, kRecord));
  writer.finish();
}

std::string refused(const Layout& layout) {
  const TempFolder folder;
  write_foreign(folder / "1999.h5", layout);
  const std::string text = error_of([&] { const YearFile file(folder / "1999.h5"); });
  CHECK_THAT(text, says("1999.h5"));
  return text;
}

}  // namespace

TEST_CASE("records come back bit for bit, however they are stored") {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  write_foreign(folder / "2001.h5", {});
  write_foreign(folder / "2002.h5", {.chunked = true});
  write_foreign(folder / "2003.h5", {.chunked = true, .gzip = 3});
  const std::vector<float> values = all_values();
  const FieldStorage storage[] = {FieldStorage::contiguous, FieldStorage::contiguous, FieldStorage::chunked,
                                  FieldStorage::compressed};
  int number = 0;
  for (const std::filesystem::path& path : year_files(folder.path())) {
    INFO(path);
    const YearFile file(path);
    CHECK(file.shape() == kShape);
    CHECK(file.storage() == storage[number++]);
    CHECK(file.record_bytes() == kRecord * 4);
    std::vector<float> record(kRecord);
    file.read_record(3, 8, 16, record);
    CHECK(std::equal(record.begin(), record.end(), values.begin() + 3 * kRecord));
    std::vector<float> crop(3 * 4 * 10);
    file.read_record(4, 4, 10, crop);
    CHECK(crop[(2 * 4 + 3) * 10 + 9] == values[4 * kRecord + (2 * 8 + 3) * 16 + 9]);
    CHECK_THAT(error_of([&] { file.read_record(5, 8, 16, record); }, Exit::failed), says("record 5"));
    CHECK_THAT(error_of([&] { file.read_record(0, 9, 16, record); }, Exit::failed), says("9 x 16"));
  }
}

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

TEST_CASE("files of another kind are refused with the reason") {
  CHECK_THAT(refused({.type = H5T_IEEE_F32BE}), says("little-endian float32"));
  CHECK_THAT(refused({.type = H5T_IEEE_F64LE}), says("little-endian float32"));
  CHECK_THAT(refused({.type = H5T_STD_I32LE}), says("little-endian float32"));
  CHECK_THAT(refused({.dims = 3}), says("3 dimensions"));
  CHECK_THAT(refused({.name = "field"}), says("no dataset `fields`"));
  CHECK_THAT(refused({.external = true, .write = false}), says("other files"));
  CHECK_THAT(refused({.write = false}), says("never written"));
}

TEST_CASE("foreign, missing and truncated files are refused") {
  const TempFolder folder;
  write_file_whole(folder / "1999.h5", "time,u10m\n0,1.5\n");
  CHECK_THAT(error_of([&] { const YearFile file(folder / "1999.h5"); }),
             says("not an HDF5 file") && says("1999.h5"));
  CHECK_THAT(error_of([&] { const YearFile file(folder / "2000.h5"); }), says("2000.h5"));
  write_ours(folder / "2001.h5");
  const auto whole = std::filesystem::file_size(folder / "2001.h5");
  for (const std::uintmax_t size :
       {whole - 1, whole - 4000, whole / 2, std::uintmax_t{2048}, std::uintmax_t{600}, std::uintmax_t{8}}) {
    INFO(size);
    std::filesystem::copy_file(folder / "2001.h5", folder / "2002.h5",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "2002.h5", size);
    CHECK_THAT(error_of([&] { const YearFile file(folder / "2002.h5"); }),
               says("2002.h5") && says("copy it again"));
  }
}

TEST_CASE("damaged headers give an error or a read, never a crash") {
  const TempFolder folder;
  write_ours(folder / "2001.h5");
  const std::string sound = read_text_file(folder / "2001.h5", 1 << 20);
  int opened = 0;
  for (std::uint64_t flip = 0; flip < 300; ++flip) {
    std::string bytes = sound;
    const std::uint64_t bit = below_at(17, flip, 2400 * 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_file_whole(folder / "2002.h5", bytes);
    const pid_t child = fork();  // the library's own parser is not ours to trust
    if (child == 0) {
      try {
        const YearFile file(folder / "2002.h5");
        std::vector<float> record(static_cast<std::size_t>(file.record_bytes() / 4));
        if (record.size() == kRecord) file.read_record(0, file.shape()[2], file.shape()[3], record);
        _exit(0);
      } catch (const Error&) {
        _exit(1);
      } catch (...) {
        _exit(2);
      }
    }
    int status = 0;
    waitpid(child, &status, 0);
    INFO("bit " << bit);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) < 2);
    opened += WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  CHECK(opened > 0);    // flips in unused bytes change nothing
  CHECK(opened < 300);  // and some are noticed
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
