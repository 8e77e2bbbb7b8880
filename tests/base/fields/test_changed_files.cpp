// Year files that are cut, removed or replaced while they are read.
#include <thread>

#include "core/random.h"
#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {{},
                                          {.chunk = std::array<std::int64_t, 4>{1, 3, 4, 16}},
                                          {.chunk = std::array<std::int64_t, 4>{1, 3, 4, 16}, .gzip = 1}};
  return all;
}

/// What reading record 4 says after `change` was made to the file.
void check_change(const std::function<void(const fs::path&)>& change, const std::string& reason) {
  for (const Layout& layout : layouts()) {
    for (const bool was_read : {false, true}) {  // a compressed file has its reader by then
      const TempFolder folder;
      write_foreign(folder / "2000.h5", layout);
      const YearFile file(folder / "2000.h5");
      if (was_read) record_of(file, 0, 8, 16);
      change(folder / "2000.h5");
      CHECK_THAT(
          error_of([&] { record_of(file, 4, 8, 16); }, Exit::failed),
          says("record 4 cannot be read") && says(reason) && says("2000.h5") && says("must stay as it is"));
    }
  }
}

/// Reads in one thread while another cuts the file at a random moment; false when the reading did not stop.
bool stops_when_cut(const Layout& layout, std::uint64_t seed) {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", layout);
  const YearFile file(folder / "2000.h5");
  std::thread cutter([&] {
    std::this_thread::sleep_for(std::chrono::microseconds(below_at(seed, 0, 3000)));
    fs::resize_file(folder / "2000.h5", below_at(seed, 1, fs::file_size(folder / "2000.h5")));
  });
  bool stopped = false;
  for (std::int64_t i = 0; i < 1'000'000 && !stopped; ++i) {
    try {
      const std::int64_t time = i % kShape[0];
      if (record_of(file, time, 8, 16) != wanted_record(kShape, time, 8, 16))
        break;  // wrong values are worse
    } catch (const Error& error) {
      stopped = error.code() == Exit::failed && error.where() == folder / "2000.h5";
    }
  }
  cutter.join();
  return stopped;
}

int count_stopped(int repeats) {
  int stopped = 0;
  for (int n = 0; n < repeats; ++n) {
    for (const Layout& layout : layouts())
      stopped += stops_when_cut(layout, static_cast<std::uint64_t>(n)) ? 1 : 0;
  }
  return stopped;
}

}  // namespace

TEST_CASE("a file that is cut, removed or replaced is noticed at the next record") {
  check_change([](const fs::path& path) { fs::resize_file(path, 3000); }, "the file has 3000 bytes, it had ");
  check_change([](const fs::path& path) { fs::resize_file(path, 0); }, "the file has 0 bytes");
  check_change([](const fs::path& path) { fs::remove(path); }, "was removed");
  check_change(
      [](const fs::path& path) {
        write_foreign(path.string() + ".new", {});
        fs::rename(path.string() + ".new", path);
      },
      "another put in its place");
}

TEST_CASE("a file that is cut under a reading thread stops it with an error") {
  CHECK(count_stopped(3) == 9);
}

TEST_CASE("a hundred files cut under a reading thread", "[.nightly]") { CHECK(count_stopped(100) == 300); }
