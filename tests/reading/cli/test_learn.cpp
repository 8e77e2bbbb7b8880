// A lesson beat by beat at a terminal, left and taken up.
#include <fstream>

#include "cli/course_text.h"
#include "cli/made_course.h"
#include "cli/terminal.h"
#include "core/json.h"
#include "course/page_section.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

const std::string kAsks = "q = quit): ";
const std::string kGoesOn = "q = quit): ";

class Learning {
 public:
  explicit Learning(const MadeCourse& course, std::vector<std::string> words)
      : terminal_(full(course, std::move(words)), course.work().string(), environment(course)) {}
  std::string ask(const std::string& typed) { return terminal_.answer(kAsks, typed); }
  std::string enter(const std::string& typed = "") { return terminal_.answer(kGoesOn, typed); }
  std::string rest(int code = 0) {
    std::string out;
    CHECK(terminal_.end(out) == code);
    return out;
  }
  Terminal& terminal() { return terminal_; }

 private:
  static std::vector<std::string> full(const MadeCourse& course, std::vector<std::string> words) {
    words.insert(words.begin(), course.program().string());
    return words;
  }
  static std::vector<std::string> environment(const MadeCourse& course) {
    std::vector<std::string> out = course.environment();
    out.push_back("ISOBAR_PREFIX=" + course.prefix().string());
    return out;
  }
  Terminal terminal_;
};

void mark_done(const MadeCourse& course, const std::vector<std::string>& beats) {
  std::filesystem::create_directories(course.progress().parent_path());
  for (const std::string& beat : beats) {
    std::ofstream(course.progress(), std::ios::app)
        << R"({"schema":1,"kind":"beat","lesson":"02_workers","beat":")" << beat << "\"}\n";
  }
}

Json stands(const MadeCourse& course) { return Json::parse(course.run({"learn", "02", "--json"}).out); }

}  // namespace

TEST_CASE("the ladder says what is done, what is next and how long it takes") {
  const MadeCourse course;
  const ProcessResult result = course.run({"learn"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, says(">  01_baseline") && says("Baseline: the plain loop") && says("02_workers") &&
                             says("not begun, about ") && says("next: ./isobar learn 01_baseline"));
  const Json json = Json::parse(course.run({"learn", "--json"}).out);
  CHECK(json["lessons"].values().size() == 2);
  CHECK(json["lessons"][1]["beats"].values().size() == 6);
  CHECK(json["lessons"][1]["takes_s"].as_number() > 3 * 60);
  CHECK_THAT(course.run({"learn", "02"}).out,
             says("[ ] read") && says("predict 0/2") && says("in a terminal"));
  CHECK(course.run({"learn", "09"}).code == 2);
  CHECK(course.kept().empty());
}

TEST_CASE("a lesson is walked through, left at any point and taken up there") {
  const MadeCourse course;
  {
    Learning first(course, {"learn", "02"});
    CHECK_THAT(first.ask("many"),
               says("First, a question from lesson 01_baseline") && says("How many GPUs?"));
    CHECK_THAT(first.ask("?"), says("\"many\""));
    CHECK_THAT(first.ask("12"), says("Hint 1 of 1: Multiply."));
    CHECK_THAT(first.enter(), says("Understood as 12 GPUs.") && says("01.gpus: not right") &&
                                  says("12 GPUs said, 16 GPUs it is."));
    CHECK_THAT(first.enter(), says("Claim") && says("Reading needs nothing that the step computes."));
    first.enter("q");
    CHECK_THAT(first.rest(), says("[ ] read"));
  }
  {
    Learning second(course, {"learn", "02"});
    CHECK_THAT(second.enter(), says("Claim") && !says("First, a question from lesson"));
    CHECK_THAT(second.enter(), says("Threads read ahead.") && !says("hidden"));
    CHECK_THAT(second.enter(), says("notice") && says("README.md") && says("no prediction here yet"));
    CHECK_THAT(second.ask("1"), says("Predict") && says("which number is fastest?"));
    second.ask("q");
    second.rest();
  }
  CHECK(stands(course)["next"] == "predict");
  {
    Learning third(course, {"learn", "02"});
    CHECK_THAT(third.ask("main.cpp:1"), says("Which line makes the threads?") && !says("fastest?"));
    CHECK_THAT(third.enter(), says("2 predictions not revealed yet"));
    CHECK_THAT(third.enter(), says("This needs 6 runs, about") && says("start them?"));
    CHECK_THAT(third.enter("q"), says("run 6 of 6") && says("notice") && says("try"));
    third.rest();
  }
  CHECK(stands(course)["next"] == "reveal");
  {
    Learning fourth(course, {"learn", "02"});
    CHECK_THAT(fourth.enter(),
               says("02.best_workers: not right") && says("One thread reads a batch at a time"));
    CHECK_THAT(fourth.enter(), says("02.where: not right"));
    CHECK_THAT(fourth.enter(),
               says("0 of 2 guesses here were right") && says("typically off by a factor of"));
    CHECK_THAT(fourth.ask("stops"), says("Break") && says("×") && says("ends with an error"));
    CHECK_THAT(fourth.enter(), says("This needs 1 run, about"));
    CHECK_THAT(fourth.enter(), says("02.nan: right"));
    CHECK_THAT(fourth.rest(),
               says("1 of 3 guesses here were right") && says("run.fault=NAME") && says("[x] break"));
  }
  CHECK(stands(course)["next"] == Json());
  CHECK_THAT(course.run({"learn"}).out, says("02_workers") && says("done"));
}

TEST_CASE("an opening question that was answered and not revealed goes on with that answer") {
  const MadeCourse course;
  std::filesystem::create_directories(course.progress().parent_path());
  write_file_whole(
      course.progress(),
      std::string_view(
          R"({"schema":1,"kind":"answer","id":"01.gpus","answer":"12","number":12,"unit":"GPUs"})"
          "\n"));
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.enter("q"),
             says("First, a question from lesson") && says("01.gpus: not right") && !says("How many GPUs?"));
  walk.rest();
}

TEST_CASE("what is wrong with one question is said, and the others are asked") {
  const MadeCourse course;
  const std::filesystem::path file = course.home() / "lessons/02_workers/questions.toml";
  std::string text = read_text_file(file, 1 << 20);
  text.replace(text.find("data.workers=1"), 14, "data.wrkers=1 ");
  write_file_whole(file, std::string_view(text));
  {
    Learning quiz(course, {"quiz", "02"});
    quiz.ask("4");
    CHECK_THAT(quiz.ask("31"), says("02.best_workers: ") && says("no key") && says("Which line makes"));
    quiz.ask("q");
    quiz.rest();
  }
  mark_done(course, {"opening 01.gpus", "read"});
  // The newest run is none that can be read; there is nothing to notice in it, and the walk goes on.
  std::filesystem::create_directories(course.work() / "runs/02_workers-broken");
  write_file_whole(course.work() / "runs/02_workers-broken/run.toml", std::string_view("[run]\nranks = 1\n"));
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.enter(), says("02.best_workers: ") && says("no key"));  // of the beat Run
  CHECK_THAT(walk.enter("q"), says("Reveal") && says("no key"));
  walk.rest();
  CHECK(stands(course)["next"] == "reveal");
}

TEST_CASE("Ctrl-C at a prompt or in a run ends it, and the prediction is taken up") {
  MadeCourse course;
  {
    Learning asked(course, {"quiz", "02.best_workers"});
    asked.terminal().until(kAsks);
    asked.terminal().press_ctrl_c();
    asked.rest(130);
  }
  CHECK(course.kept().empty());
  course.first("kill -INT $PPID; sleep 60 & wait");
  {
    Learning run(course, {"quiz", "02.best_workers"});
    run.ask("4");
    run.enter();
    CHECK_THAT(run.rest(130), says("stopped") && says("Your prediction is stored"));
  }
  course.first(":");
  Learning again(course, {"quiz", "02.best_workers"});
  CHECK_THAT(again.enter(), says("you said 4 workers") && !says("fastest?"));
  CHECK_THAT(again.rest(), says("02.best_workers: right"));
}

TEST_CASE("the questions of a lesson come one after the other, and a skipped one stays open") {
  const MadeCourse course;
  Learning quiz(course, {"quiz", "02"});
  CHECK_THAT(quiz.ask("skip"), says("02.best_workers"));
  quiz.ask("31");
  CHECK_THAT(quiz.ask("q"), says("02.where: ") && says("02.nan"));
  quiz.rest();
  CHECK_THAT(course.run({"quiz", "02"}).out, says("1 of 3 questions answered") && says("02.best_workers"));
  Learning again(course, {"quiz", "02"});
  again.ask("skip");
  again.ask("skip");
  CHECK_THAT(again.rest(), says("2 questions of 02_workers still open"));
}

TEST_CASE("runs are done when they are there, not when they cannot be made") {
  const MadeCourse course;
  const std::filesystem::path file = course.home() / "lessons/02_workers/questions.toml";
  std::string text = read_text_file(file, 1 << 20);
  const std::string set = "set = [\"data.workers=4\"]";
  text.replace(text.find(set), set.size(), "recorded = \"02_workers/recorded/none\"");
  write_file_whole(file, std::string_view(text));
  for (const char* const answer : {"02.best_workers=4", "02.where=1"}) {
    const std::string id(answer, std::string_view(answer).find('='));
    course.run({"quiz", id, "--answer", std::string(answer).substr(id.size() + 1)});
  }
  mark_done(course, {"opening 01.gpus", "read"});
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.enter(), says("w4 cannot be run here") && says("start them?"));
  walk.enter("q");
  walk.rest();
  CHECK(stands(course)["next"] == "run");
}

TEST_CASE("pages are plain lines on a terminal") {
  const std::string page =
      "# Title\n\n## Claim\n\nA **bold** word, `code *as is*`, [a link](https://x.org/y) and [a "
      "file](main.cpp):\n"
      "on two lines.\n\n- one\n  and more\n- two\n\n| a | long head |\n|---|---|\n| 1 | 2 |\n\n"
      "```\n## no heading\n```\n\n![what it "
      "shows](p.svg)\n\n<details><summary>S</summary>\n\nhidden\n\n</details>\n\n"
      "end\n\n## Idea\n\nother\n";
  CHECK(plain_lines(page_section(page, "Claim"), 80) ==
        std::vector<std::string>{
            "  A bold word, code *as is*, a link (https://x.org/y) and a file: on two lines.", "",
            "  - one and more", "  - two", "", "  a  long head", "  1  2", "", "    ## no heading", "",
            "  [picture: what it shows]", "", "  end"});
  CHECK(page_section(page, "Nothing").empty());
  CHECK(plain_lines("[[2 &lt;x x&gt;, 2 &lt;x&gt;]] &amp; &#945; &#x3B1; `&lt;` &nosuch; & a;", 80) ==
        std::vector<std::string>{"  [[2 <x x>, 2 <x>]] & \u03b1 \u03b1 &lt; &nosuch; & a;"});
  CHECK(plain_lines("## 1 &lt; 2\n\n| &lt;a&gt; | b |\n|---|---|\n| 1 | &times; |\n\n&#27;[31m", 80) ==
        std::vector<std::string>{"1 < 2", "", "  <a>  b", "  1    \u00d7", "", "  ?[31m"});
  CHECK(plain_lines("", 80).empty());
  CHECK(plain_lines("a\n" + std::string(5, '*') + "\n| x", 0).size() >= 1);  // any text, any width
}
