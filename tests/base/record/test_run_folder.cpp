#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "core/files.h"
#include "core/pattern.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_owner.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// What a console prints on a terminal of that kind: a state, another one, a line.
std::string on_a_terminal(const char* kind) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE((master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0));
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::cout.flush();  // else the child writes once more what waits there
  const pid_t child = fork();
  if (child == 0) {
    setenv("TERM", kind, 1);
    dup2(slave, STDOUT_FILENO);
    {
      Console console;
      console.progress("step 1");
      console.progress("step 2");
      console.line("done");
    }
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  close(slave);
  std::string out;
  char piece[256];
  for (ssize_t got = 0; (got = read(master, piece, sizeof piece)) > 0;)
    out.append(piece, static_cast<std::size_t>(got));
  close(master);
  return out;
}

}  // namespace

TEST_CASE("a terminal that takes no escape sequences gets none, and a line for each state") {
  CHECK_THAT(on_a_terminal("xterm"), says("\x1b[K"));
  CHECK(on_a_terminal("dumb") == "step 1\r\nstep 2\r\ndone\r\n");
}

TEST_CASE("run folders are named by lesson and time, and two at once take two names") {
  const TempFolder folder;
  const RunFolder one = make_run_folder(folder / "runs", "01_baseline");
  const RunFolder two = make_run_folder(folder / "runs", "01_baseline");
  CHECK(one.path != two.path);
  CHECK(matches_of(one.path.filename().string(), "^01_baseline-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$").size() == 1);
  CHECK(one.stream_file(3).filename() == "rank-0003.jsonl");
}

TEST_CASE("a named run folder may be new or empty, and nothing in it is overwritten") {
  const TempFolder folder;
  CHECK(std::filesystem::is_directory(take_run_folder(folder / "a/b").path));
  write_file_whole(folder / "a/b/note", "mine");
  CHECK_THAT(error_of([&] { take_run_folder(folder / "a/b"); }), says("not empty") && says("a/b"));
  write_file_whole(folder / "a/b/run.toml", "x = 1");
  CHECK_THAT(error_of([&] { take_run_folder(folder / "a/b"); }),
             says("holds a run already") && says("--run-dir"));
  CHECK_THAT(error_of([&] { take_run_folder(folder / "a/b/note"); }), says("is a file"));
}

TEST_CASE("what a batch job left in a run folder is none of the run's") {
  const TempFolder folder;
  write_file_whole(folder / "job.sbatch", std::string_view("x"));
  write_file_whole(folder / "job-12.log", std::string_view("x"));
  CHECK(take_run_folder(folder.path()).path == folder.path());
  const TempFolder other;
  write_file_whole(other / "a-job", std::string_view("x"));
  CHECK_THAT(error_of([&] { take_run_folder(other.path()); }), says("not empty"));
}

TEST_CASE("console.log keeps every line, those from before it existed too") {
  const TempFolder folder;
  {
    Console console;
    console.line("before");
    console.keep_in(folder / "console.log");
    console.line("after");
    console.note("aside");
  }
  CHECK(read_text_file(folder / "console.log", 1000) == "before\nafter\naside\n");
}

TEST_CASE("a run folder that is moved, removed or put in the place of another is known to be lost") {
  const TempFolder folder;
  const auto path = folder / "run";
  std::filesystem::create_directory(path);
  const RunOwner owner(path, "here");
  CHECK_FALSE(owner.lost());
  std::filesystem::rename(path, folder / "elsewhere");
  REQUIRE(owner.lost());
  CHECK(owner.lost()->code() == Exit::failed);
  CHECK_THAT(owner.lost()->where(), says(path.string()));
  std::filesystem::create_directory(path);
  { const RunOwner other(path, "here"); }
  CHECK(owner.lost());
  std::filesystem::remove_all(path);
  std::filesystem::rename(folder / "elsewhere", path);
  CHECK_FALSE(owner.lost());
}

TEST_CASE("readers see whether a folder has an owner, and take no lock for it") {
  const TempFolder folder;
  const auto path = folder / "owner";
  CHECK_FALSE(has_owner(folder.path()));
  std::string text;
  {
    const RunOwner owner(folder.path(), "here");
    CHECK(has_owner(folder.path()));
    text = read_text_file(path, 10'000);
  }
  CHECK_FALSE(has_owner(folder.path()));  // it was given back
  write_file_whole(path, std::string_view(text));
  CHECK(has_owner(folder.path()));
  const std::size_t born = text.find("born = ") + 7;
  write_file_whole(path, std::string_view(text.substr(0, born) + "1" + text.substr(born)));
  CHECK_FALSE(has_owner(folder.path()));  // the number of a process was used again
  write_file_whole(path, "host = elsewhere\npid = 12\nstarted = then\nview = another\n");
  CHECK(has_owner(folder.path()));
  const auto now = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, now - std::chrono::minutes(4));
  CHECK_FALSE(has_owner(folder.path()));
}

TEST_CASE("a writer of another machine counts as alive until it was silent for three minutes") {
  const TempFolder folder;
  write_file_whole(folder / "owner", "host = elsewhere\npid = 12\nstarted = then\n");
  const auto take = [&] { const RunOwner owner(folder.path(), "here"); };
  CHECK_THROWS_WITH(take(), says("12 on elsewhere"));
  try {
    take();
  } catch (const Error& error) {
    CHECK_THAT(error.hint(), says("where its machine died, try again in 1"));
  }
  const auto now = std::filesystem::last_write_time(folder / "owner");
  std::filesystem::last_write_time(folder / "owner", now - std::chrono::minutes(4));
  CHECK_NOTHROW(take());
}

TEST_CASE(
    "a job of Slurm that starts again waits for its earlier start to fall silent; another job does not") {
  const TempFolder folder;
  const auto written = [&](const std::string& job, int seconds_ago) {
    write_file_whole(folder / "owner", "host = elsewhere\npid = 12\nstarted = then\njob = " + job + "\n");
    const auto now = std::filesystem::last_write_time(folder / "owner");
    std::filesystem::last_write_time(folder / "owner", now - std::chrono::seconds(seconds_ago));
  };
  setenv("SLURM_JOB_ID", "4711", 1);
  written("4711", 28);
  const auto last_word = std::filesystem::last_write_time(folder / "owner");
  CHECK_NOTHROW(RunOwner(folder.path(), "here"));
  CHECK(std::filesystem::file_time_type::clock::now() - last_word >= std::chrono::seconds(29));
  written("4712", 28);
  CHECK_THROWS_WITH(RunOwner(folder.path(), "here"), says("12 on elsewhere"));
  unsetenv("SLURM_JOB_ID");
  written("4711", 28);
  CHECK_THROWS_WITH(RunOwner(folder.path(), "here"), says("12 on elsewhere"));
}

TEST_CASE(
    "of many processes that take one folder at once one gets it, and a broken off attempt holds nobody up") {
  const TempFolder folder;
  write_file_whole(folder / "owner.claim", std::string_view());
  const auto now = std::filesystem::last_write_time(folder / "owner.claim");
  std::filesystem::last_write_time(folder / "owner.claim", now - std::chrono::minutes(1));
  std::atomic<int> taken = 0;
  std::atomic<int> refused = 0;
  std::vector<RunOwner> owners(8);
  std::vector<std::thread> threads;
  for (RunOwner& owner : owners) {
    threads.emplace_back([&] {
      try {
        owner = RunOwner(folder.path(), "here");
        ++taken;
      } catch (const Error&) {
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 1);
  CHECK(refused == 7);
  CHECK_FALSE(std::filesystem::exists(folder / "owner.claim"));
  owners.clear();
  CHECK(read_text_file(folder / "owner", 1000).empty());
}
