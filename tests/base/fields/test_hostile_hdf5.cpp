// Foreign, damaged and hostile HDF5 files: an error that names file and reason, whatever the bytes are.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>

#include "core/files.h"
#include "core/random.h"
#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace isobar::test_hostile_hdf5 {

namespace {

using Chunk = std::array<std::int64_t, 4>;
constexpr std::array<std::int64_t, 4> kLarger = {5, 3, 24, 48};  // 69 kB

std::string refused(const Layout& layout, const Added& added = {}) {
  const TempFolder folder;
  write_foreign(folder / "1999.h5", layout, added);
  const std::string text = opening_error(folder / "1999.h5");
  CHECK_THAT(text, says("1999.h5"));
  return text;
}

/// The error for the file with `change` made to its bytes.
std::string refused_with(const Layout& layout, const std::function<void(std::string&)>& change) {
  const TempFolder folder;
  write_foreign(folder / "1999.h5", layout);
  std::string bytes = read_text_file(folder / "1999.h5", 1 << 20);
  change(bytes);
  write_file_whole(folder / "1999.h5", bytes);
  const std::string text = opening_error(folder / "1999.h5");
  CHECK_THAT(text, says("1999.h5"));
  return text;
}

template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  REQUIRE(at + sizeof(T) <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

/// The one place where address and size of the contiguous values stand: they are the last thing in the file.
std::size_t place_of_address(const std::string& bytes) {
  const std::array<std::uint64_t, 2> wanted = {bytes.size() - 5 * kRecord * 4, 5 * kRecord * 4};
  std::string pattern(sizeof(wanted), '\0');
  std::memcpy(pattern.data(), wanted.data(), sizeof(wanted));
  const std::size_t at = bytes.find(pattern);
  REQUIRE(at != std::string::npos);
  REQUIRE(bytes.find(pattern, at + 1) == std::string::npos);
  return at;
}

/// An entry of the tree that lists chunks (its key: size, mask, five offsets; then, at 48, the address).
std::size_t place_of_chunk_entry(const std::string& bytes, std::size_t entry) {
  const std::size_t tree = bytes.find(std::string("TREE\x01\x00", 6));
  REQUIRE(tree != std::string::npos);
  return tree + 24 + entry * 56;
}

struct Counts {
  int opened = 0;
  int refused = 0;        ///< when opened
  int refused_later = 0;  ///< when read
  std::vector<std::string>
      failures;  ///< of those refused when opened: how the library crashed, hung or went astray
};

using Damage = std::function<void(std::string& bytes, std::uint64_t seed, std::uint64_t number)>;

void flip_one_bit(std::string& bytes, std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t bit = below_at(seed, number, std::min<std::size_t>(bytes.size(), 65536) * 8);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
}

/// One to eight bytes become the largest, the smallest, or an odd number.
void smear(std::string& bytes, std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t count = 1 + below_at(seed, 3 * number, 8);
  const std::uint64_t begin =
      below_at(seed, 3 * number + 1, std::min<std::size_t>(bytes.size(), 65536) - count);
  constexpr std::array<char, 4> kFills = {'\0', '\xff', '\x7f', '\x01'};
  const char fill = kFills[below_at(seed, 3 * number + 2, kFills.size())];
  for (std::uint64_t n = 0; n < count; ++n) bytes[begin + n] = fill;
}

/// Damages the file in one way after the other, opens and reads it.
Counts damage(const Layout& layout, const Damage& change, std::uint64_t seed, int times) {
  const TempFolder folder;
  write_foreign(folder / "sound.h5", layout);
  const std::string sound = read_text_file(folder / "sound.h5", 1 << 20);
  Counts counts;
  for (int done = 0; done < times;) {
    std::vector<std::filesystem::path> paths;
    for (int n = 0; n < 25 && done < times; ++n, ++done) {
      std::string bytes = sound;
      change(bytes, seed, static_cast<std::uint64_t>(done));
      paths.push_back(folder / fmt::format("damage{}.h5", done));
      write_file_whole(paths.back(), bytes);
    }
    const std::vector<OpenedYearFile> opened = try_open_year_files(paths);
    for (std::size_t n = 0; n < paths.size(); ++n) {
      INFO(paths[n]);
      REQUIRE(opened[n].file.has_value() != opened[n].error.has_value());
      if (opened[n].reader_failed) counts.failures.push_back(opened[n].error->text());
      if (opened[n].error) {
        ++counts.refused;
        REQUIRE(opened[n].error->where() == paths[n].string());
        REQUIRE(!std::string(opened[n].error->what()).empty());
        REQUIRE(opened[n].error->code() == Exit::bad_input);
        continue;
      }
      ++counts.opened;
      const YearFile& file = *opened[n].file;
      if (file.record_bytes() > 1 << 20) continue;
      try {
        record_of(file, file.shape()[0] - 1, file.shape()[2], file.shape()[3]);
      } catch (const Error& error) {
        ++counts.refused_later;
        REQUIRE(error.where() == paths[n].string());
        REQUIRE_THAT(error.what(), says("record "));
        REQUIRE(error.code() == Exit::failed);
      }
    }
    for (const std::filesystem::path& path : paths) std::filesystem::remove(path);
  }
  return counts;
}

/// Small ones, so that most bits are the library's own.
const std::vector<Layout>& campaign_layouts() {
  constexpr std::array<std::int64_t, 4> kTiny = {3, 2, 4, 8};
  static const std::vector<Layout> layouts = {
      {.shape = kTiny},
      {.latest = true, .shape = kTiny},
      {.chunk = Chunk{1, 2, 2, 8}, .shape = kTiny},
      {.chunk = Chunk{1, 2, 2, 8}, .latest = true, .growing = true, .shape = kTiny},
      {.chunk = Chunk{2, 2, 4, 8}, .gzip = 6, .shuffle = true, .shape = kTiny},
      {.chunk = Chunk{2, 2, 4, 8}, .gzip = 6, .latest = true, .shape = kTiny},
  };
  return layouts;
}

Counts campaign(const Damage& change, std::uint64_t seed, int times_each) {
  Counts all;
  for (const Layout& layout : campaign_layouts()) {
    const Counts some = damage(layout, change, ++seed, times_each);
    all.opened += some.opened;
    all.refused += some.refused;
    all.refused_later += some.refused_later;
    all.failures.insert(all.failures.end(), some.failures.begin(), some.failures.end());
  }
  return all;
}

}  // namespace

TEST_CASE("files of another kind are refused with the reason") {
  CHECK_THAT(refused({.type = H5T_IEEE_F32BE}), says("little-endian float32"));
  CHECK_THAT(refused({.type = H5T_IEEE_F64LE}), says("little-endian float32"));
  CHECK_THAT(refused({.type = H5T_STD_I32LE}), says("little-endian float32"));
  CHECK_THAT(refused({.dims = 3}), says("3 dimensions"));
  CHECK_THAT(refused({.name = "field"}), says("no dataset `fields`"));
  CHECK_THAT(refused({.external = true, .write = false}), says("other files"));
  CHECK_THAT(refused({.compact = true}), says("compact"));
  CHECK_THAT(refused({.write = false}), says("never written"));
  CHECK_THAT(refused({.chunk = Chunk{1, 3, 8, 16}, .write = false}), says("never written"));
  CHECK_THAT(refused({.chunk = Chunk{1, 3, 8, 16}, .gzip = 1, .write = false}), says("never written"));
}

TEST_CASE("links, groups and virtual datasets that stand where the dataset should are refused") {
  const Layout elsewhere{.name = "other"};
  CHECK_THAT(
      refused(elsewhere,
              [](hid_t file, hid_t) { H5Lcreate_soft("/other", file, "fields", H5P_DEFAULT, H5P_DEFAULT); }),
      says("soft link"));
  CHECK_THAT(refused(elsewhere,
                     [](hid_t file, hid_t) {
                       H5Lcreate_external("/etc/hostname", "/fields", file, "fields", H5P_DEFAULT,
                                          H5P_DEFAULT);
                     }),
             says("link to another file"));
  CHECK_THAT(refused(elsewhere,
                     [](hid_t file, hid_t) {
                       H5Gclose(H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
                     }),
             says("no dataset"));
  CHECK_THAT(refused(elsewhere,
                     [](hid_t file, hid_t) {
                       const std::array<hsize_t, 4> extents = {5, 3, 8, 16};
                       const hid_t space = H5Screate_simple(4, extents.data(), nullptr);
                       const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                       H5Pset_virtual(properties, space, "2001.h5", "fields", space);
                       H5Dclose(H5Dcreate2(file, "fields", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties,
                                           H5P_DEFAULT));
                       H5Pclose(properties);
                       H5Sclose(space);
                     }),
             says("virtual"));
}

TEST_CASE("absurd extents are refused before anything is reserved for them") {
  const auto empty = [](const std::array<std::int64_t, 4>& shape, const Chunk& chunk) {
    return refused({.chunk = chunk, .write = false, .shape = shape});
  };
  CHECK_THAT(empty({3'000'000, 1, 8, 16}, {1, 1, 8, 16}), says("3,000,000 records"));
  CHECK_THAT(empty({5, 70'000, 7'000, 7'000}, {1, 1, 100, 100}), says("at most 1 GiB"));
  CHECK_THAT(empty({5, std::int64_t{1} << 30, std::int64_t{1} << 20, 1}, {1, 1, 100, 1}),
             says("at most 1 GiB"));
  CHECK_THAT(empty({1'000'000, 20, 8, 16}, {1, 1, 8, 16}), says("more than 4,000,000 chunks"));
}

TEST_CASE("values that would lie outside of the file are refused") {
  const auto moved_to = [](std::uint64_t address) {
    return refused_with({}, [&](std::string& bytes) { put(bytes, place_of_address(bytes), address); });
  };
  CHECK_THAT(moved_to(1 << 20), says("1999.h5"));
  CHECK_THAT(moved_to(4096), says("cut short") || says("likely file corruption"));  // HDF5 1.14 sees it first
  CHECK_THAT(moved_to(0xfffffffffffffff0), says("1999.h5"));
  CHECK_THAT(moved_to(0x7fffffffffffff00), says("1999.h5"));
}

TEST_CASE("chunks that lie outside of the file, overlap or are short are refused") {
  const auto with_address = [](std::size_t entry, std::size_t other, std::int64_t beyond) {
    return refused_with({.chunk = Chunk{1, 3, 8, 16}}, [&](std::string& bytes) {
      std::uint64_t address = bytes.size();
      if (other < 5) std::memcpy(&address, bytes.data() + place_of_chunk_entry(bytes, other) + 48, 8);
      put(bytes, place_of_chunk_entry(bytes, entry) + 48, address + static_cast<std::uint64_t>(beyond));
    });
  };
  constexpr std::size_t kEndOfFile = 9;
  CHECK_THAT(with_address(0, kEndOfFile, std::int64_t{1} << 40), says("1999.h5"));
  CHECK_THAT(with_address(2, kEndOfFile, -1535), says("1999.h5"));
  CHECK_THAT(with_address(4, kEndOfFile, 0), says("1999.h5"));
  CHECK_THAT(with_address(1, 0, 1535), says("two chunks of dataset `fields` overlap"));
  CHECK_THAT(with_address(1, 0, 0), says("two chunks of dataset `fields` overlap"));
  CHECK_THAT(refused_with(
                 {.chunk = Chunk{1, 3, 8, 16}},
                 [&](std::string& bytes) { put(bytes, place_of_chunk_entry(bytes, 1), std::uint32_t{100}); }),
             says("100 bytes, 1536 are wanted"));
}

TEST_CASE("a file that crashes the HDF5 library of Debian 12 is an error, and the next file opens") {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "train");
  write_foreign(folder / "train/2000.h5", {.chunk = Chunk{2, 3, 8, 16}, .gzip = 6});
  write_ours(folder / "train/2001.h5");
  std::string bytes = read_text_file(folder / "train/2000.h5", 1 << 20);
  const std::string fill_message("\x05\x00\x08\x00\x01\x00\x00\x00\x02\x03\x02\x01\x00\x00\x00\x00", 16);
  const std::size_t at = bytes.find(fill_message);
  REQUIRE(at != std::string::npos);
  put(bytes, at + 12, std::int32_t{-65536});  // the size of the fill value; found by the campaign below
  write_file_whole(folder / "train/2000.h5", bytes);
  const std::vector<OpenedYearFile> opened =
      try_open_year_files({folder / "train/2000.h5", folder / "train/2001.h5"});
  REQUIRE(opened[0].error);
  INFO(opened[0].error->text());  // with 1.10.8: crashed (signal 11); a mended library refuses it
  CHECK(opened[0].error->where() == folder / "train/2000.h5");
  CHECK(opened[0].error->code() == Exit::bad_input);
  CHECK(opened[1].file);
  const ProcessResult checked = run_process({ISOBAR_CLI, "data", "check", folder.path().string()});
  CHECK(checked.code == 2);
  CHECK_THAT(checked.out,
             says("PROBLEM  train/2000.h5: ") && says("train/2001.h5: [5, 3, 8, 16], contiguous"));
  const std::string counted = "1 files brought the HDF5 library down";
  CHECK((checked.out.find(counted) != std::string::npos) == opened[0].reader_failed);
}

TEST_CASE("what is no HDF5 file, or no file, is refused") {
  const TempFolder folder;
  write_file_whole(folder / "1999.h5", "time,u10m\n0,1.5\n");
  CHECK_THAT(opening_error(folder / "1999.h5"), says("not an HDF5 file") && says("1999.h5"));
  write_file_whole(folder / "1998.h5", "");
  CHECK_THAT(opening_error(folder / "1998.h5"), says("the file is empty") && says("1998.h5"));
  write_file_whole(folder / "1997.h5", std::string(1 << 20, 'x'));
  CHECK_THAT(opening_error(folder / "1997.h5"), says("not an HDF5 file"));
  write_file_whole(folder / "1996.h5", "\x89HDF\r\n\x1a\n");
  CHECK_THAT(opening_error(folder / "1996.h5"), says("copy it again"));
  REQUIRE(mkfifo((folder / "1995.h5").c_str(), 0600) == 0);
  CHECK_THAT(opening_error(folder / "1995.h5"), says("not a regular file") && says("1995.h5"));
  std::filesystem::create_directory(folder / "1994.h5");
  CHECK_THAT(opening_error(folder / "1994.h5"), says("not a regular file"));
  CHECK_THAT(opening_error(folder / "1993.h5"), says("1993.h5"));
  std::filesystem::create_symlink("/dev/zero", folder / "1992.h5");
  CHECK_THAT(opening_error(folder / "1992.h5"), says("not a regular file"));
}

TEST_CASE("a file cut at any 4 KiB is refused with a hint to copy it again") {
  const TempFolder folder;
  write_ours(folder / "ours.h5");
  write_foreign(folder / "chunked.h5", {.chunk = Chunk{1, 3, 24, 48}, .shape = kLarger});
  write_foreign(folder / "compressed.h5", {.chunk = Chunk{1, 3, 24, 48}, .shuffle = true, .shape = kLarger});
  write_foreign(folder / "contiguous.h5", {.shape = kLarger});
  for (const char* name : {"ours.h5", "chunked.h5", "compressed.h5", "contiguous.h5"}) {
    const auto whole = std::filesystem::file_size(folder / name);
    REQUIRE(opening_error(folder / name).empty());
    std::vector<std::uintmax_t> sizes = {whole - 1, 600, 100, 8, 7};
    for (std::uintmax_t size = 4096; size < whole; size += 4096) sizes.push_back(size);
    for (const std::uintmax_t size : sizes) {
      INFO(name << " of " << size << " bytes");
      std::filesystem::copy_file(folder / name, folder / "2002.h5",
                                 std::filesystem::copy_options::overwrite_existing);
      std::filesystem::resize_file(folder / "2002.h5", size);
      CHECK_THAT(opening_error(folder / "2002.h5"), says("2002.h5") && says("copy it again"));
    }
  }
}

TEST_CASE("one bit flipped gives an error or a read, never a crash of this program") {
  const Counts counts = campaign(flip_one_bit, 17, 30);
  CHECK(counts.opened > 0);    // flips in unused bytes and in values change nothing
  CHECK(counts.refused > 10);  // and many are noticed
  CHECK(counts.opened + counts.refused == 180);
}

TEST_CASE("a campaign of damaged files", "[.nightly]") {
  for (const auto& [name, change] :
       {std::pair<const char*, Damage>{"flipped bits", flip_one_bit}, {"smears", smear}}) {
    const Counts counts = campaign(change, 1000, 2000);
    WARN("12,000 " << name << ": " << counts.opened << " opened (" << counts.refused_later
                   << " of them refused a record), " << counts.refused << " refused, "
                   << counts.failures.size() << " of these by a crash or hang of the library");
    for (const std::string& failure : counts.failures) WARN(failure);
    CHECK(counts.opened + counts.refused == 12'000);
    CHECK(counts.refused > 1000);
  }
}

}  // namespace isobar::test_hostile_hdf5
