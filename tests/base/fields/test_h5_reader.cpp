// The process that holds the HDF5 library may crash, hang, lie or be missing: always an error, never a wait
// without end, nothing left behind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/clock.h"
#include "core/files.h"
#include "core/random.h"
#include "fields/foreign_files.h"
#include "fields/year_file.h"
#include "foreign/h5_protocol.h"
#include "foreign/h5_table.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/until.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

/// A reader that acts as `act` says (fake_reader.cpp). Those that never answer are given little time, one
/// that has to open the file first some more, and all others as much as any machine needs.
H5Program fake(const TempFolder& folder, const std::string& act) {
  fs::create_symlink(ISOBAR_FAKE_READER, folder / act);
  const bool is_mute = act == "hang" || act == "spin" || act == "deaf" || act == "drip";
  return {.path = folder / act, .patience_ms = is_mute ? 300 : act == "hang_at_record" ? 5000 : 300'000};
}

std::string opening_with(const std::string& act) {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  const std::vector<OpenedYearFile> opened = try_open_year_files({folder / "2000.h5"}, fake(folder, act));
  REQUIRE(opened.front().error);
  CHECK(opened.front().error->code() == Exit::bad_input);
  CHECK(opened.front().error->where() == folder / "2000.h5");
  CHECK(opened.front().reader_failed == (act != "escape"));
  return opened.front().error->text();
}

std::string reading_with(const std::string& act) {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  const std::vector<YearFile> files = open_year_files({folder / "2000.h5"}, fake(folder, act));
  const std::string text = error_of([&] { record_of(files.front(), 3, 8, 16); }, Exit::failed);
  CHECK_THAT(text, says("record 3 cannot be read") && says("2000.h5"));
  return text;
}

/// Children of this process that are called isobar-h5.
std::vector<pid_t> readers() {
  std::vector<pid_t> out;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "status");
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    const bool ours = all.find("\nPPid:\t" + std::to_string(getpid()) + "\n") != std::string::npos;
    if (ours && all.rfind("Name:\tisobar-h5\n", 0) == 0) out.push_back(std::stoi(name));
  }
  return out;
}

std::string status_of(pid_t pid, const std::string& file) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

const Layout kCompressed{.chunk = std::array<std::int64_t, 4>{1, 3, 8, 16}, .gzip = 1};

}  // namespace

TEST_CASE("a reader that dies while it looks at a file is an error that says how") {
  CHECK_THAT(opening_with("crash"), says("the HDF5 library crashed (signal 11) while reading this file") &&
                                        says("damaged or hostile; copy it again"));
  CHECK_THAT(opening_with("abort"), says("crashed (signal 6)"));
  CHECK_THAT(opening_with("too_long"), says("ran without end"));
  CHECK_THAT(opening_with("exit3"), says("exit code 3"));
  CHECK_THAT(opening_with("not_loaded"), says("does not start") && says("./isobar doctor"));
}

TEST_CASE("a reader that hangs is ended after its time") {
  CHECK_THAT(opening_with("hang"), says("not done with this file after 0.3 s") && says("very slow"));
  CHECK_THAT(opening_with("spin"), says("not done with this file"));
  CHECK_THAT(opening_with("deaf"), says("2000.h5"));
  CHECK_THAT(opening_with("drip"), says("not done with this file after 1.8 s"));
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // and gone
}

TEST_CASE("a reader that lies is not believed") {
  CHECK_THAT(opening_with("flood"), says("too long"));
  CHECK_THAT(opening_with("garbage"), says("something else"));
  CHECK_THAT(opening_with("floats"), says("not asked for"));
  CHECK_THAT(opening_with("long_refusal"), says("not asked for"));
  CHECK_THAT(opening_with("huge_extents"), says("at most 1 GiB"));
  CHECK_THAT(opening_with("outside"), says("more than can be counted"));
  const std::string text = opening_with("escape");
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, says("bad?]0;title? file") && says("hint?[2J"));
}

TEST_CASE("a reader that fails at a record is an error with file and record") {
  CHECK_THAT(reading_with("crash_at_record"), says("crashed (signal 7)"));
  CHECK_THAT(reading_with("hang_at_record"), says("not done with this file"));
  CHECK_THAT(reading_with("endless_record"), says("bytes where 1536 were left"));
  CHECK_THAT(reading_with("empty_record"), says("0 bytes where 1536 were left"));
  CHECK_THAT(reading_with("odd_record"), says("6 bytes where 1536 were left"));
}

TEST_CASE("a missing reader is said to be missing") {
  const TempFolder folder;
  write_ours(folder / "2000.h5");
  const std::string text =
      error_of([&] { open_year_files({folder / "2000.h5"}, {.path = folder / "isobar-h5"}); });
  CHECK_THAT(text, says("cannot be started") && says("isobar-h5") && says("build it"));
  write_file_whole(folder / "isobar-h5", "text");
  CHECK_THAT(error_of([&] { open_year_files({folder / "2000.h5"}, {.path = folder / "isobar-h5"}); }),
             says("cannot be started"));
}

TEST_CASE("one bad file among several is named, and the others open") {
  const TempFolder folder;
  for (const char* name : {"2000.h5", "2001.h5", "2002.h5", "2003.h5"}) write_ours(folder / name);
  write_file_whole(folder / "2001.h5", "text");
  fs::resize_file(folder / "2003.h5", 4000);
  const std::vector<fs::path> paths = year_files(folder.path());
  const std::vector<OpenedYearFile> opened = try_open_year_files(paths);
  REQUIRE(opened.size() == 4);
  CHECK(opened[0].file);
  CHECK(opened[2].file);
  CHECK_THAT(opened[1].error->text(), says("not an HDF5 file") && says("2001.h5"));
  CHECK_THAT(opened[3].error->text(), says("2003.h5"));
  CHECK_THAT(error_of([&] { open_year_files(paths); }), says("2001.h5"));
  // Each file that brings the reader down is counted; the next gets a new one.
  for (const OpenedYearFile& one : try_open_year_files(paths, fake(folder, "crash")))
    CHECK(one.reader_failed);
}

TEST_CASE("nothing is left behind: no process, no descriptor") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", kCompressed);
  write_file_whole(folder / "2001.h5", "text");
  const std::ptrdiff_t before = open_descriptors();
  {
    const YearFile file(folder / "2000.h5");
    record_of(file, 0, 8, 16);
    CHECK(readers().size() == 1);
    opening_error(folder / "2001.h5");
    opening_error(folder / "2000.h5", fake(folder, "hang"));
  }
  CHECK(open_descriptors() == before);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("the reader has given up what it does not need") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("a sanitizer needs what the reader gives up");
  return;
#endif
  const TempFolder folder;
  write_foreign(folder / "2000.h5", kCompressed);
  const YearFile file(folder / "2000.h5");
  record_of(file, 0, 8, 16);
  REQUIRE(readers().size() == 1);
  const pid_t pid = readers().front();
  CHECK_THAT(status_of(pid, "status"), says("NoNewPrivs:\t1") && says("Seccomp:\t2"));
  const std::string limits = status_of(pid, "limits");
  const auto limit = [&](const std::string& name) {
    std::istringstream line(limits.substr(limits.find(name) + name.size()));
    std::string soft, hard;
    line >> soft >> hard;
    CHECK(soft == hard);
    return soft;
  };
  CHECK(limit("Max address space") == "1073741824");
  CHECK(limit("Max core file size") == "0");
  CHECK(limit("Max file size") == "0");
  CHECK(limit("Max open files") == "5");
  const auto open = fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd");
  CHECK(std::distance(open, fs::directory_iterator()) == 4);  // the socket twice, the null device, the file
  CHECK_THAT(status_of(pid, "environ"), !says("HOME="));
}

TEST_CASE("signals that ask a trainer to stop leave its reader at work") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", kCompressed);
  const YearFile file(folder / "2000.h5");
  record_of(file, 0, 8, 16);
  REQUIRE(readers().size() == 1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) kill(readers().front(), number);
  CHECK(record_of(file, 3, 8, 16) == wanted_record(kShape, 3, 8, 16));
}

TEST_CASE("a reader ends when the program that it reads for is killed") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", kCompressed);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t trainer = fork();
  if (trainer == 0) {
    const YearFile file(folder / "2000.h5");
    record_of(file, 0, 8, 16);
    const pid_t reader = readers().front();
    (void)!write(ends[1], &reader, sizeof(reader));
    while (true) pause();
  }
  close(ends[1]);
  pid_t reader = 0;
  const bool told = read(ends[0], &reader, sizeof(reader)) == static_cast<ssize_t>(sizeof(reader));
  close(ends[0]);
  kill(trainer, SIGKILL);
  waitpid(trainer, nullptr, 0);
  REQUIRE(told);
  until([&] {
    const std::string status = status_of(reader, "status");
    return status.empty() || status.find("State:\tZ") != std::string::npos;
  });
}

TEST_CASE("a reader that is killed between records is an error, and the next record has a new one") {
  const TempFolder folder;
  write_foreign(folder / "2000.h5", kCompressed);
  const YearFile file(folder / "2000.h5");
  record_of(file, 0, 8, 16);
  REQUIRE(readers().size() == 1);
  kill(readers().front(), SIGKILL);
  CHECK_THAT(error_of([&] { record_of(file, 1, 8, 16); }, Exit::failed),
             says("record 1 cannot be read") && says("signal 9"));
  CHECK(record_of(file, 1, 8, 16) == wanted_record(kShape, 1, 8, 16));
}

TEST_CASE("a table of any bytes is refused or sound") {
  H5TableHead head{.shape = {5, 3, 8, 16}, .chunk = {1, 3, 8, 16}, .chunks = 5, .storage = 1};
  head.attributes = 1;
  std::string sound(reinterpret_cast<const char*>(&head), sizeof(head));
  for (std::uint64_t n = 0; n < 5; ++n) {
    const std::uint64_t begin = 2048 + n * 1536;
    sound.append(reinterpret_cast<const char*>(&begin), 8);
  }
  sound.append("\x04\0\0\0name\x01\0\0\0\x03\0\0\0u10", 19);
  const auto decode = [](const std::string& bytes) {
    return decode_table(std::as_bytes(std::span(bytes)), 10'000, "2000.h5");
  };
  CHECK(decode(sound).chunks[4] == 2048 + 4 * 1536);
  CHECK(decode(sound).attributes.at("name") == std::vector<std::string>{"u10"});
  for (std::size_t size = 0; size < sound.size(); ++size) {
    CHECK_THAT(error_of([&] { decode(sound.substr(0, size)); }), says("2000.h5"));
  }
  CHECK_THAT(error_of([&] { decode(sound + 'x'); }), says("more than its table"));
  int refused = 0;
  for (std::uint64_t flip = 0; flip < sound.size() * 8; ++flip) {
    std::string bytes = sound;
    bytes[flip / 8] = static_cast<char>(bytes[flip / 8] ^ (1 << (flip % 8)));
    try {
      const H5Table table = decode(bytes);
      REQUIRE(table.shape[0] * table.shape[1] * table.shape[2] * table.shape[3] > 0);
      for (const std::uint64_t begin : table.chunks) REQUIRE((begin == kMissingChunk || begin < 10'000));
    } catch (const Error& error) {
      REQUIRE(error.where() == "2000.h5");
      ++refused;
    }
  }
  CHECK(refused > 300);
}
