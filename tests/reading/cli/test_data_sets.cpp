// ./isobar data: sets that are made, kept, and looked at.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <sstream>

#include "cli/programs.h"
#include "core/files.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("make_fields refuses grids and folders that make no sense, and keeps what is there") {
  const TempFolder folder;
  const auto make = [&](std::vector<std::string> words) {
    words.insert(words.begin(), ISOBAR_MAKE_FIELDS);
    return run_process(words, {.environment = {"ISOBAR_PREFIX=" + folder.path().string()}});
  };
  for (const char* grid :
       {"72", "72x", "x144", "72x144x2", "-72x144", "70x144", "8x16", "100000x200000", "", "72X144"}) {
    INFO(grid);
    const ProcessResult result = make({"--grid", grid});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says("grid"));
  }
  CHECK(make({"--samples", "0"}).code == 2);
  CHECK(make({"--samples", "many"}).code == 2);
  CHECK(make({"--sample", "16"}).code == 2);
  CHECK(make({"--out", "/proc/nothing"}).code != 0);
  std::filesystem::create_directories(folder / "mine");
  write_file_whole(folder / "mine/thesis.txt", "do not lose me");
  const ProcessResult result = make({"--grid", "16x32", "--samples", "16", "--out", folder / "mine"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("no data set of ours"));
  CHECK(read_text_file(folder / "mine/thesis.txt", 100) == "do not lose me");
  const ProcessResult huge = make({"--grid", "4096x4096", "--samples", "1000000"});
  CHECK(huge.code == 1);
  CHECK_THAT(huge.err, says("are free") && says("ISOBAR_PREFIX"));
}

TEST_CASE("a data set that holds a file of its user is not made again") {
  const TempFolder folder;
  const std::vector<std::string> words = {ISOBAR_MAKE_FIELDS, "--grid", "16x32", "--samples", "16", "--out",
                                          folder / "d",       "--force"};
  REQUIRE(run_process(words).code == 0);
  REQUIRE(run_process(words).code == 0);
  write_file_whole(folder / "d/train/notes.txt", std::string_view("thesis"));
  const ProcessResult refused = run_process(words);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("train/notes.txt") && says("move it away"));
  CHECK(read_text_file(folder / "d/train/notes.txt", 10) == "thesis");
  fs::remove(folder / "d/train/notes.txt");
  fs::copy_file(folder / "d/train/2001.h5", folder / "d/train/1979.h5");  // a year that its user brought
  CHECK_THAT(run_process(words).err, says("train/1979.h5"));
}

TEST_CASE("what is printed to a closed descriptor reaches no file of the data set") {
  const TempFolder folder;
  const std::string words = shell_quoted(ISOBAR_MAKE_FIELDS) + " --grid 16x32 --samples 16 --out ";
  const auto year = [&](const std::string& name) {
    return read_text_file(folder / name / std::string("train/2001.h5"), 1 << 24);
  };
  const auto make = [&](const std::string& name, const std::string& end) {
    return run_process({"/bin/bash", "-c", "exec " + words + shell_quoted((folder / name).string()) + end});
  };
  REQUIRE(make("whole", "").code == 0);
  const ProcessResult lost = make("a", " >&-");
  CHECK(lost.code == 1);
  CHECK_THAT(lost.err, says("not all of it could be printed") && says("it is closed"));
  CHECK(make("b", " <&- >&- 2>&-").code == 1);
  CHECK(make("c", " 2>&-").code == 0);
  const std::string whole = year("whole");
  for (const char* const name : {"a", "b", "c"}) {  // whose headers tell the second in which they were made
    CHECK(year(name).size() == whole.size());
    CHECK(year(name).find("  data  ") == std::string::npos);
  }
}

TEST_CASE("an interrupted data set leaves nothing, the next one is complete and then left alone") {
  const TempFolder folder;
  const std::vector<std::string> words = {ISOBAR_MAKE_FIELDS, "--grid", "48x96", "--samples", "200", "--out",
                                          folder / "d"};
  const auto begun = [&] { return !std::filesystem::is_empty(folder.path()); };
  const ProcessResult stopped = run_process(words, {.interrupt_when = begun});
  CHECK(stopped.code == 130);
  CHECK_THAT(stopped.err, says("nothing was kept"));
  CHECK(std::filesystem::is_empty(folder.path()));
  const ProcessResult killed = run_process(words, {.signal = 9, .interrupt_when = begun});
  CHECK(killed.code == 137);
  CHECK_FALSE(std::filesystem::exists(folder / "d"));
  CHECK(run_process(words).code == 0);
  CHECK(std::filesystem::exists(folder / "d/dataset.toml"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) ==
        1);  // the killed one's part is gone
  CHECK_THAT(run_process(words).out, says("is there already"));
}

TEST_CASE("of two programs that make one data set the first to end keeps it, since it may be read already") {
  const TempFolder folder;
  const auto making = [&](const char* grid) {
    return std::vector<std::string>{ISOBAR_MAKE_FIELDS, "--grid", grid, "--samples", "16", "--out",
                                    folder / "d"};
  };
  const auto inode = [&] {
    struct stat found {};
    CHECK(stat((folder / "d/train/2001.h5").c_str(), &found) == 0);
    return found.st_ino;
  };
  ino_t kept = 0;
  const ProcessResult slower =
      run_process(making("48x96"), {.signal = SIGSTOP,
                                    .interrupt_when = [&] { return !fs::is_empty(folder.path()); },
                                    .interrupted =
                                        [&] {
                                          const std::string part =
                                              fs::directory_iterator(folder.path())->path().filename();
                                          CHECK(run_process(making("16x32")).code == 0);
                                          kept = inode();
                                          kill(std::atoi(part.c_str() + part.rfind('-') + 1), SIGCONT);
                                        }});
  CHECK(slower.code == 0);
  CHECK_THAT(slower.out, says("meanwhile"));
  CHECK(inode() == kept);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("data check finds what is wrong with a data set, and nothing in a sound one") {
  const TempFolder folder;
  const std::filesystem::path data = folder / "d";
  REQUIRE(
      run_process({ISOBAR_MAKE_FIELDS, "--grid", "16x32", "--samples", "16", "--out", data.string()}).code ==
      0);
  const auto check = [&] { return run_process({ISOBAR_CLI, "data", "check", data.string()}); };
  const ProcessResult sound = check();
  CHECK(sound.code == 0);
  CHECK_THAT(sound.out, says("train/2001.h5: [8, 20, 16, 32], contiguous") && says("all is well"));
  // A row a channel: what the files hold beside what the statistics give, which here are theirs.
  const std::size_t table = sound.out.find("channel       mean      stats  deviation      stats");
  REQUIRE(table != std::string::npos);
  std::istringstream rows(sound.out.substr(sound.out.find('\n', table)));
  for (int channel = 0; channel < 20; ++channel) {
    int number = -1;
    double mean = 0, given_mean = 0, deviation = 0, given_deviation = 0, least = 0, greatest = 0;
    rows >> number >> mean >> given_mean >> deviation >> given_deviation >> least >> greatest;
    CHECK(number == channel);
    CHECK(mean == Approx(given_mean).margin(0.05 * deviation));
    CHECK(deviation == Approx(given_deviation).epsilon(0.05));
    CHECK((least < mean && mean < greatest));
  }
  std::filesystem::copy(data, folder / "sound", std::filesystem::copy_options::recursive);
  const auto broken = [&](const std::function<void()>& breaks) {
    breaks();
    const ProcessResult result = check();
    CHECK(result.code == 2);
    std::filesystem::remove_all(data);
    std::filesystem::copy(folder / "sound", data, std::filesystem::copy_options::recursive);
    return result.out;
  };
  CHECK_THAT(broken([&] { std::filesystem::resize_file(data / "valid/2003.h5", 5000); }),
             says("2003.h5") && says("PROBLEM"));
  const std::string refused = broken([&] { write_file_whole(data / "train/2000.h5", "text"); });
  CHECK_THAT(refused, says("2000.h5: not an HDF5 file") &&
                          says("not compared with the values: 1 file of train/ could not be read"));
  CHECK(refused.find("the files have mean") == std::string::npos);
  CHECK_THAT(refused, says("\n1 problem\n"));
  CHECK_THAT(broken([&] { std::filesystem::remove(data / "stats/global_stds.npy"); }),
             says("global_stds.npy"));
  CHECK_THAT(broken([&] { std::filesystem::remove_all(data / "valid"); }),
             says("valid: there is no such data folder"));
  CHECK_THAT(broken([&] { std::filesystem::rename(data / "valid/2003.h5", data / "valid/2003.nc"); }),
             says("valid: no year files") && says("named like 1999.h5"));
  CHECK_THAT(broken([&] {
               std::filesystem::copy_file(data / "stats/global_means.npy", data / "stats/global_stds.npy",
                                          std::filesystem::copy_options::overwrite_existing);
             }),
             says("the files have mean"));
  CHECK_THAT(broken([&] {
               const float bad = std::numeric_limits<float>::infinity();
               const FileDescriptor file(::open((data / "train/2002.h5").c_str(), O_WRONLY | O_CLOEXEC));
               const auto size = static_cast<off_t>(std::filesystem::file_size(data / "train/2002.h5"));
               REQUIRE(pwrite(file.number(), &bad, 4, size / 2 / 8 * 8) == 4);
             }),
             says("train/2002.h5: 1 values are not finite, the first at record "));
  CHECK(run_process({ISOBAR_CLI, "data", "check", folder / "nowhere"}).code == 2);
  CHECK(run_process({ISOBAR_CLI, "data", "check"}).code == 2);
}

TEST_CASE("data check refuses of a climatology what a run refuses or leaves out") {
  const TempFolder folder;
  const fs::path data = folder / "d", means = data / "stats/time_means.npy";
  REQUIRE(
      run_process({ISOBAR_MAKE_FIELDS, "--grid", "16x32", "--samples", "16", "--out", data.string()}).code ==
      0);
  const std::string sound = read_text_file(means, 1 << 20);
  const auto with = [&](const std::function<void(std::string&)>& change) {
    std::string changed = sound;
    change(changed);
    write_file_whole(means, changed);
    const ProcessResult result = run_process({ISOBAR_CLI, "data", "check", data.string()});
    CHECK(result.code == 2);
    CHECK_THAT(result.out, says("PROBLEM  stats/time_means.npy: ") && says("\n1 problem\n"));
    return result.out;
  };
  const std::size_t begin = sound.size() - 20 * 16 * 32 * sizeof(float);
  CHECK_THAT(with([&](std::string& bytes) {
               std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), '\0');
             }),
             says("the climatology is all zeros in channel ") && says("no climatology will be shown"));
  CHECK_THAT(with([](std::string& bytes) {
               const std::string no = "'fortran_order': False";
               bytes.replace(bytes.find(no), no.size(), "'fortran_order': True ");
             }),
             says("Fortran"));
  CHECK_THAT(with([&](std::string& bytes) { bytes.replace(begin, 4, std::string("\0\0\xc0\x7f", 4)); }),
             says("value 0 of the climatology is not a finite number"));
  CHECK_THAT(with([](std::string& bytes) { bytes.resize(bytes.size() - 100); }), says("bytes"));
  fs::copy_file(data / "stats/global_means.npy", means, fs::copy_options::overwrite_existing);
  CHECK_THAT(run_process({ISOBAR_CLI, "data", "check", data.string()}).out,
             says("the climatology has shape [1, 20, 1, 1], [1, 20, 16, 32] is wanted"));
}
