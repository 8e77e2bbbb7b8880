// Questions about times beside other programs: what was recorded stands in, and numbers wait.
#include "cli/made_course.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("beside other programs a number is held against what was recorded, and graded when they are gone") {
  MadeCourse course;
  const fs::path recorded = course.home() / "lessons/02_workers/recorded/answers.jsonl";
  CHECK_THAT(course.run({"quiz", "02", "--record"}).out, says("02.best_workers: ") && says("answers.jsonl"));
  CHECK_THAT(read_text_file(recorded, 1 << 20), says("\"id\":\"02.best_workers\"") && says("02.nan"));
  fs::remove_all(course.work() / "runs");
  const std::size_t calls = course.calls().size();
  course.set_busy(true);
  const ProcessResult busy = course.run({"quiz", "02.best_workers", "--answer", "1", "--yes"});
  CHECK_THAT(busy.out, says("02.best_workers: provisional") && says("source     recorded on ") &&
                           says("--when-quiet") && says("4 workers gave ") && says("were left out") &&
                           !says("One thread reads"));
  CHECK(course.calls().size() == calls + 1);  // the first run showed it
  CHECK_THAT(course.kept(), says("\"outcome\":\"provisional\""));
  CHECK_THAT(course.run({"quiz", "02", "--list"}).out, says("02.best_workers  (provisional)"));
  const ProcessResult still = course.run({"quiz", "--when-quiet", "--wait", "0"});
  CHECK(still.code == 1);
  CHECK_THAT(still.err,
             says("other programs used the processors") && says("02.best_workers") && says("--wait"));
  course.set_busy(false);
  CHECK_THAT(course.run({"quiz", "--when-quiet", "--wait", "0"}).out,
             says("02.best_workers: not right") && says("One thread reads") && says("1 number graded."));
  CHECK_THAT(course.run({"quiz", "--when-quiet"}).out, says("No number waits for a quiet machine."));
  CHECK(count_of(course.kept(), "\"kind\":\"answer\"") == 1);
  CHECK(course.run({"quiz", "--when-quiet", "--wait", "-1"}).code == 2);
}

TEST_CASE("beside other programs a choice is graded against what was recorded") {
  MadeCourse course;
  const fs::path file = course.home() / "lessons/02_workers/questions.toml";
  std::string text = read_text_file(file, 1 << 20);
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("kind = \"number\"\nbeat = \"predict\"\ngoal = 2\nunit = \"workers\"\ntolerance = 0",
          "kind = \"choice\"\nbeat = \"predict\"\ngoal = 2");
  replace("wrong = [{ answer = \"1\"", "wrong = [{ answer = \"w1\"");
  replace("[[question.run]]",
          "[[question.choice]]\nkey = \"w1\"\ntext = \"one\"\n[[question.choice]]\nkey = \"w4\"\n"
          "text = \"four\"\n[[question.run]]");
  write_file_whole(file, std::string_view(text));
  CHECK(course.run({"quiz", "02", "--record"}).code == 0);
  fs::remove_all(course.work() / "runs");
  course.set_busy(true);
  CHECK_THAT(course.run({"quiz", "02.best_workers", "--answer", "w1", "--yes"}).out,
             says("02.best_workers: not right") && says("recorded on ") && says("One thread reads") &&
                 says("recorded elsewhere"));
  // Without a record, or with one that is damaged, it stays unanswered, and nothing is lost.
  const fs::path recorded = course.home() / "lessons/02_workers/recorded/answers.jsonl";
  write_file_whole(recorded, std::string_view("{\"id\":\"02.best_workers\"\n"));
  const ProcessResult damaged = course.run({"quiz", "02.best_workers", "--again", "--answer", "w4", "--yes"});
  CHECK(damaged.code == 2);
  CHECK_THAT(damaged.err, says("answers.jsonl:1") && says("--record writes it again"));
  fs::remove(recorded);
  CHECK_THAT(course.run({"quiz", "02.best_workers", "--yes"}).out,
             says("cannot answer") && says("other programs"));
  CHECK(count_of(course.kept(), "\"kind\":\"answer\"") == 2);
}
