// Programs that share a progress file, wait for its lock, or are killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "core/waiting.h"
#include "reading/course/progress_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/forked.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

int waited_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// A clock on which every wait is over at once; `at_wait` hears of each, from 1.
struct HurriedClock final : Clock {
  HurriedClock() { set_clock(this); }
  ~HurriedClock() { set_clock(nullptr); }
  std::int64_t now_us() const override { return now; }
  void wait(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t until_us) override {
    now = until_us;
    ++waits;
    if (at_wait) at_wait(waits);
  }
  std::int64_t now = 0;
  int waits = 0;
  std::function<void(int)> at_wait;
};

/// Answers 1, 2, ... one after the other, each named on `said` once it is stored.
[[noreturn]] void answer_for_ever(const fs::path& file, const Question& question, int said) {
  for (std::int64_t i = 1;; ++i) {
    ProgressWriter(file).commit(question, typed(question, std::to_string(i)));
    if (write(said, &i, sizeof(i)) != sizeof(i)) _exit(1);
  }
}

}  // namespace

TEST_CASE("a hundred processes that append at once lose nothing, and who reads meanwhile sees whole lines") {
  const TempFolder folder;
  const fs::path file = folder / "new/p.jsonl";
  const Question question = asked_questions().at(0);
  std::vector<pid_t> writers;
  for (int i = 0; i < 100; ++i) {
    writers.push_back(testing::forked(
        [&, i] {
          ProgressWriter(file).commit(question, typed(question, std::to_string(i)));
          return 0;
        },
        {}));
  }
  std::size_t seen = 0;
  for (const pid_t pid : writers) {
    const CourseProgress progress = read_progress(file);
    CHECK(progress.problems.empty());
    CHECK(progress.answers.size() >= seen);
    seen = progress.answers.size();
    CHECK(waited_for(pid) == 0);
  }
  std::set<std::string> texts;
  for (const StoredAnswer& answer : read_progress(file).answers) texts.insert(answer.text);
  CHECK(texts.size() == 100);
}

TEST_CASE("two programs that share a file each see what the other did") {
  const TempFolder folder;
  const std::vector<Question> all = asked_questions();
  ProgressWriter one(folder / "p"), other(folder / "p");
  one.commit(all[0], typed(all[0], "4"));
  other.commit(all[1], typed(all[1], "a"));
  other.reveal(newest(folder / "p", all[0]), right_grade(), measured(4), {});
  one.reveal(newest(folder / "p", all[1]), right_grade(), Truth{}, {});
  const CourseProgress progress = read_progress(folder / "p");
  CHECK(progress.reveal(all[0].id)->of == 0);
  CHECK(progress.reveal(all[1].id)->of == 1);
}

TEST_CASE("killed at any moment, a writer loses no answer that it said was stored") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const Question question = asked_questions().at(0);
  std::size_t before = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) answer_for_ever(file, question, ends[1]);
    close(ends[1]);
    std::int64_t stored = 0;
    for (int i = 0; i <= round % 5; ++i) REQUIRE(read(ends[0], &stored, sizeof(stored)) == sizeof(stored));
    kill(pid, SIGKILL);
    waited_for(pid);
    while (read(ends[0], &stored, sizeof(stored)) == sizeof(stored)) {
    }
    close(ends[0]);
    const CourseProgress progress = read_progress(file);
    REQUIRE(progress.answers.size() >= before + static_cast<std::size_t>(stored));
    CHECK(progress.answers[before + static_cast<std::size_t>(stored) - 1].text == std::to_string(stored));
    before = progress.answers.size();
  }
}

TEST_CASE("a lock that is held is waited for, but not for ever") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl";
  const Question question = asked_questions().at(0);
  ProgressWriter(file).commit(question, typed(question, "4"));
  const int held = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX) == 0);
  HurriedClock clock;
  const std::string before = text_of_file(file);
  CHECK_THAT(failure_of([&] { ProgressWriter(file).commit(question, typed(question, "5")); }),
             says("another program holds the progress file") && says("ISOBAR_PROGRESS"));
  CHECK(text_of_file(file) == before);
  CHECK(read_progress(file).answers.size() == 1);  // who reads goes without
  clock.waits = 0;
  clock.at_wait = [&](int waits) { waits == 3 ? flock(held, LOCK_UN) : 0; };
  ProgressWriter(file).commit(question, typed(question, "5"));
  CHECK(read_progress(file).answers.size() == 2);
  close(held);
}

TEST_CASE("a file that another one replaces while its lock is waited for is not written to") {
  const TempFolder folder;
  const fs::path file = folder / "p.jsonl", old = folder / "old.jsonl";
  const Question question = asked_questions().at(0);
  ProgressWriter(file).commit(question, typed(question, "4"));
  const std::string before = text_of_file(file);
  const int held = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX) == 0);
  HurriedClock clock;
  clock.at_wait = [&](int waits) {
    if (waits != 1) return;
    fs::rename(file, old);
    write_text(file, before);
    flock(held, LOCK_UN);
  };
  ProgressWriter(file).commit(question, typed(question, "5"));
  CHECK(text_of_file(old) == before);
  CHECK(read_progress(file).answers.size() == 2);
  close(held);
}
