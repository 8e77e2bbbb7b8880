#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "core/checked.h"
#include "core/crc32c.h"
#include "core/files.h"
#include "core/named_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a whole file is there or the old one is") {
  const TempFolder folder;
  write_file_whole(folder / "a", "old");
  {
    WholeFileWriter writer(folder / "a");
    writer.write(std::as_bytes(std::span("half")));
  }  // never finished
  CHECK(read_text_file(folder / "a", 100) == "old");
  CHECK(entries(folder.path()) == 1);
  write_file_whole(folder / "a", "new");
  CHECK(read_text_file(folder / "a", 100) == "new");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("a file that cannot be written is said with its name") {
  CHECK_THAT(error_of([] { write_file_whole("/proc/nothing/here", "x"); }), says("/proc/nothing/here"));
  if (std::filesystem::exists("/dev/full")) {
    const TempFolder folder;
    CHECK_THAT(error_of(
                   [] {
                     const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
                     write_fully(full, "/dev/full", std::as_bytes(std::span("x")));
                   },
                   Exit::failed),
               says("No space left") && says("/dev/full") && says("free some space"));
  }
}

TEST_CASE("a named file is written over one of its kind, and over no other") {
  const TempFolder folder;
  const NamedFile file = {.path = folder / "a", .option = "--out", .kind = "table", .mark = "made by isobar"};
  const auto with = [&](const std::filesystem::path& path, bool replace = false) {
    NamedFile out = file;
    out.path = path;
    out.replace = replace;
    return out;
  };
  write_named_file(file, "# made by isobar: 1");
  write_named_file(file, "# made by isobar: 2");
  CHECK(read_text_file(folder / "a", 100) == "# made by isobar: 2");

  write_file_whole(folder / "thesis", "the work of years");
  const auto refused = [&](const NamedFile& other) {
    return error_of([&] { write_named_file(other, "x"); });
  };
  CHECK_THAT(refused(with(folder / "thesis")),
             says("is no table of ours") && says("--out") && says("--replace writes over it"));
  NamedFile key = with(folder / "thesis");
  key.option = "train.save_init";
  CHECK_THAT(refused(key), says("move it away") && !says("--replace"));
  key.mark = "";
  CHECK_THAT(refused(key), says("the file is there already"));
  write_file_whole(folder / "late", std::string(600, ' ') + "made by isobar");  // quoted somewhere in a text
  CHECK_THAT(refused(with(folder / "late")), says("is no table of ours"));
  CHECK(read_text_file(folder / "thesis", 100) == "the work of years");
  write_named_file(with(folder / "thesis", /*replace=*/true), "x");
  CHECK(read_text_file(folder / "thesis", 100) == "x");
}

TEST_CASE("a named file is written behind a link, and never in the place of one, a folder or a device") {
  const TempFolder folder;
  const auto named = [&](const std::filesystem::path& path) {
    return NamedFile{.path = path, .option = "-o", .kind = "table", .mark = "ours", .replace = true};
  };
  std::filesystem::create_directory(folder / "far");
  write_file_whole(folder / "far/a", "ours");
  std::filesystem::create_symlink("far/a", folder / "link");
  write_named_file(named(folder / "link"), "ours again");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_text_file(folder / "far/a", 100) == "ours again");
  std::filesystem::create_symlink("nowhere", folder / "lost");
  CHECK_THAT(error_of([&] { place_of(named(folder / "lost")); }), says("a link that leads nowhere"));
  CHECK_THAT(error_of([&] { place_of(named(folder / "far")); }), says("is not a file"));
  CHECK_THAT(error_of([&] { place_of(named("/dev/null")); }), says("is not a file"));
  CHECK(place_of(named(folder / "new")) == folder / "new");
}

TEST_CASE("a path below the working directory is said as it would be typed there") {
  const std::filesystem::path here = std::filesystem::current_path();
  CHECK(as_typed(here / "runs/one") == "runs/one");
  CHECK(as_typed("runs/one") == "runs/one");
  CHECK(as_typed(here.parent_path() / "beside") == here.parent_path() / "beside");
  CHECK(as_typed("/") == "/");
}

TEST_CASE("reads are exact, and say where a file ends") {
  const TempFolder folder;
  write_file_whole(folder / "a", "0123456789");
  const FileDescriptor file = open_for_reading(folder / "a");
  std::array<std::byte, 4> bytes{};
  pread_exactly(file, folder / "a", 6, bytes);
  CHECK(std::to_integer<char>(bytes[3]) == '9');
  CHECK_THAT(error_of([&] { pread_exactly(file, folder / "a", 8, bytes); }, Exit::failed),
             says("has 10 bytes, 4 from byte 8 on") && says("copy it again"));
  CHECK_THAT(error_of([&] { read_text_file(folder / "a", 5); }), says("has 10 bytes, at most 5"));
}

TEST_CASE("only regular files are read") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { open_for_reading(folder.path()); }), says("not a regular file"));
  CHECK_THAT(error_of([&] { open_for_reading(folder / "missing"); }),
             says("No such file") && says("missing"));
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THAT(error_of([&] { open_for_reading(folder / "fifo"); }),
             says("not a regular file"));  // and does not hang
}

TEST_CASE("a file that says it is empty and is not, or cannot be read, is no empty text") {
  const TempFolder folder;
  write_file_whole(folder / "empty", std::string_view(""));
  CHECK(read_text_file(folder / "empty", 100).empty());
  CHECK_THAT(error_of([] { read_text_file("/proc/self/status", 100); }), says("is marked as empty"));
  CHECK_THROWS_AS(read_text_file("/proc/self/mem", 100), Error);
}

TEST_CASE("products of sizes do not wrap around") {
  const std::array<std::int64_t, 3> wraps = {4194305, 4194305, 211106198978564};
  CHECK_FALSE(checked_product(wraps, 4));
  const std::array<std::int64_t, 2> negative = {-1, 4};
  CHECK_FALSE(checked_product(negative));
  const std::array<std::int64_t, 3> good = {3, 4, 5};
  CHECK(checked_product(good, 4) == 240);
}

TEST_CASE("The checksum by instruction and by table agree for every length and alignment, in pieces too") {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t length = 0; length < 200; ++length) {
      const std::span<const std::byte> part(bytes.data() + begin, length);
      REQUIRE(crc32c(part) == crc32c_plain(part));
      REQUIRE(crc32c(part.subspan(length / 3), crc32c(part.first(length / 3))) == crc32c_plain(part));
    }
  }
  CHECK(crc32c(std::as_bytes(std::span("123456789", 9))) == 0xe3069283U);  // RFC 3720, B.4
}

TEST_CASE("A file's digest is that of the bytes that were written") {
  const TempFolder folder;
  const std::string text(3'000'001, 'x');
  WholeFileWriter writer(folder / "file");
  writer.write(std::as_bytes(std::span(text)).first(1'000'003));
  writer.write(std::as_bytes(std::span(text)).subspan(1'000'003));
  writer.finish();
  CHECK(digest_of(folder / "file") == writer.digest());
  CHECK(writer.digest().bytes == text.size());
}
