#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "core/files.h"
#include "launch/rank_launcher.h"
#include "launch/rank_output.h"
#include "launch/spawn.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "support/until.h"

using namespace isobar;

namespace {

ProcessResult launch(int ranks, std::vector<std::string> words, ProcessOptions options = {}) {
  words.insert(words.begin(), {ISOBAR_RANKED, "launch", std::to_string(ranks)});
  options.deadline_s = 300;
  return run_process(words, options);
}

/// Once two ranks have said so by a file each.
std::function<bool()> all_ready(const TempFolder& folder) {
  return [zero = when_there(folder / "0.ready"), one = when_there(folder / "1.ready")] {
    return zero() && one();
  };
}

void until_gone(const std::filesystem::path& file_of_pid) {
  const int pid = std::stoi(read_text_file(file_of_pid, 100));
  until([&] { return kill(pid, 0) != 0; });
}

}  // namespace

TEST_CASE("pieces become whole lines with the rank in front") {
  PrefixedLines lines(3);
  CHECK(lines.take("one\ntw") == "[3] one\n");
  CHECK(lines.take("").empty());
  CHECK(lines.take("o\n\nthree\nfo") == "[3] two\n[3] three\n");
  CHECK(lines.rest() == "[3] fo\n");
  CHECK(lines.rest().empty());
  const std::string cut = lines.take(std::string(100'000, 'x'));
  CHECK(cut == "[3] " + std::string(100'000, 'x') + "\n");
}

TEST_CASE("every rank knows who it is, and all can meet") {
  const ProcessResult result = launch(3, {"environment"});
  for (int rank = 0; rank < 3; ++rank) {
    const std::string n = std::to_string(rank);
    CHECK_THAT(result.out, says("[" + n + "] " + n + " of 3, here " + n + ", meets\n"));
  }
  CHECK_THAT(result.out, says("ended 0 first -1 asked 0 codes 0 0 0\n\n"));
}

TEST_CASE("lines of ranks are never mixed, and one without an end is kept") {
  const ProcessResult result = launch(4, {"say", "500"});
  std::vector<int> next(4, 0);
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("[", 0) != 0 || line.find("line ") == std::string::npos) continue;
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    CHECK(line == "[" + std::to_string(rank) + "] line " + std::to_string(next.at(rank)++) + " " +
                      std::string(200, static_cast<char>('a' + rank)));
  }
  CHECK(next == std::vector<int>(4, 500));
  for (const std::string rank : {"0", "1", "2", "3"}) {
    CHECK_THAT(result.out, says("[" + rank + "] no end\n"));
    CHECK_THAT(result.err, says("[" + rank + "] an error\n"));
  }
}

TEST_CASE("one that is killed ends all, and is named") {
  const ProcessResult result = launch(3, {"die", "1", "9"});
  CHECK(result.code == 137);
  CHECK_THAT(result.out, says("ended 137 first 1 asked 0 codes 143f 137 143f\n"));
  CHECK_THAT(result.out,
             says("rank 1 failed first, before the ranks had met: killed (SIGKILL); ranks 0, 2 followed"));
  CHECK_THAT(launch(2, {"die", "0", "11"}).out,
             says("rank 0 failed first, before the ranks had met: killed (SIGSEGV)"));
}

TEST_CASE("one that does not hear SIGTERM is killed after the grace") {
  const TempFolder folder;
  const ProcessResult result = launch(2, {"deaf", "1", folder.path().string()});
  CHECK(result.code == 3);
  CHECK_THAT(result.out,
             says("codes 137f 3\n") && says("rank 1 failed first, before the ranks had met: no bread"));
}

TEST_CASE("one that stands still is the one that failed") {
  const TempFolder folder;
  const ProcessResult result = launch(3, {"stand_still", "2", folder.path().string()});
  CHECK(result.code == 1);
  CHECK_THAT(result.out, says("first 2 ") && says("its process stands still"));
}

TEST_CASE("one that only followed is never blamed, though it ended first") {
  const TempFolder folder;
  const ProcessResult result = launch(2, {"blame", folder.path().string()});
  CHECK_THAT(result.out,
             says("rank 1 failed first, in step 13, stage forward: exit code 4; rank 0 followed"));
  CHECK(result.code == 4);
}

TEST_CASE("what a rank started ends with it") {
  const TempFolder folder;
  CHECK(launch(2, {"parent", (folder / "pid").string()}).code == 3);
  until_gone(folder / "pid");
}

TEST_CASE("a signal reaches every rank once, and their code is that of all") {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    const TempFolder folder;
    const ProcessResult result =
        launch(2, {"hear", folder.path().string()}, {.signal = signal, .interrupt_when = all_ready(folder)});
    CHECK(result.code == 75);
    const std::string n = signal == SIGTERM  ? "TERM 1 INT 0 USR1 0"
                          : signal == SIGINT ? "TERM 0 INT 1 USR1 0"
                                             : "TERM 0 INT 0 USR1 1";
    CHECK(read_text_file(folder / "0", 100) == n);
    CHECK(read_text_file(folder / "1", 100) == n);
  }
}

TEST_CASE("a second Ctrl-C ends all, whatever they do") {
  const TempFolder folder;
  const ProcessResult result = launch(2, {"stubborn", folder.path().string()},
                                      {.interrupt_when = all_ready(folder), .times = 1000, .pause_ms = 400});
  CHECK(result.code == 130);
  CHECK_THAT(result.out, says("ended 130 first -1 asked 2 codes 137 137"));
}

TEST_CASE("a launcher whose output nobody reads hears a request to stop, and its ranks end") {
  const TempFolder folder;
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  const FileDescriptor read_end(ends[0]);
  REQUIRE(fcntl(read_end.number(), F_SETPIPE_SZ, 4096) >= 4096);
  FileDescriptor write_end(ends[1]);
  const pid_t launcher =
      spawn({ISOBAR_RANKED, "launch", "2", "flood", folder.path().string()}, {.output = write_end.number()});
  write_end.close();
  // Both talk, and what they say fills the pipe, which is a page.
  const auto waiting = [&] {
    int bytes = 0;
    ioctl(read_end.number(), FIONREAD, &bytes);
    return bytes;
  };
  until([&] { return when_there(folder / "0")() && when_there(folder / "1")() && waiting() >= 2000; });
  kill(launcher, SIGTERM);
  for (const char* const rank : {"0", "1"}) until_gone(folder / rank);
  std::string said;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = read(read_end.number(), piece.data(), piece.size())) > 0;)
    said.append(piece.data(), static_cast<std::size_t>(got));
  int status = 0;
  REQUIRE(waitpid(launcher, &status, 0) == launcher);
  CHECK_THAT(said, says("] xxx") && says("first -1 asked 15 codes 143 143"));
}

TEST_CASE("what ranks print and nobody can have is an error, unless its reader left") {
  const auto print_into = [](const std::string& where) {
    return run_process({"/bin/bash", "-c", "\"$0\" launch 2 say 20 " + where, ISOBAR_RANKED},
                       {.deadline_s = 300});
  };
  for (const char* const where : {"> /dev/full", ">&-", "<&- >&-"}) {
    INFO(where);
    const ProcessResult lost = print_into(where);
    CHECK(lost.code == 1);
    CHECK_THAT(lost.err, says("not all of it could be printed") && says("standard output"));
  }
  CHECK(print_into("<&- >&- 2>&-").code == 1);
  CHECK(print_into("2>&-").code == 0);
  CHECK(print_into("| true").err.find("not all of it") == std::string::npos);
}

TEST_CASE("ranks that do not meet at a file leave no link behind") {
  const TempFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  show_run_folder("", folder / "run of this test");
  std::filesystem::current_path(before);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a deadline ends all") {
  const RanksEnded ended = launch_ranks({ISOBAR_RANKED, "stubborn"}, 2, {.quiet = true, .deadline_s = 0.5});
  CHECK(ended.timed_out);
  CHECK(ended.code == 1);
  CHECK(ended.ranks.at(1).signal == SIGKILL);
}

TEST_CASE("a program that cannot be started leaves none behind") {
  CHECK_THROWS_AS(launch_ranks({"/nowhere/program"}, 2, {.quiet = true}), Error);
}
