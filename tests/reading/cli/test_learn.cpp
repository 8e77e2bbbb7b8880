// A lesson goal by goal at a terminal, left and taken up.
#include <fstream>

#include "cli/course_text.h"
#include "cli/made_course.h"
#include "cli/terminal.h"
#include "core/json.h"
#include "course/page_section.h"
#include "course/progress.h"
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

void mark_done(const MadeCourse& course, const std::vector<std::string>& parts,
               const std::string& lesson = "02_workers") {
  std::filesystem::create_directories(course.progress().parent_path());
  for (const std::string& part : parts) {
    std::ofstream(course.progress(), std::ios::app)
        << R"({"schema":1,"kind":"beat","lesson":")" << lesson << R"(","beat":")" << part << "\"}\n";
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
  CHECK(json["lessons"][1]["parts"].values().size() == 5);
  CHECK(json["lessons"][1]["takes_s"].as_number() > 3 * 60);
  CHECK_THAT(course.run({"learn", "02"}).out,
             says("[ ] read") && says("goal 2 0/2") && says("in a terminal"));
  CHECK(course.run({"learn", "09"}).code == 2);
  CHECK(course.kept().empty());
}

TEST_CASE("a lesson is walked through goal by goal, left at any point and taken up there") {
  const MadeCourse course;
  mark_done(course, {"read"}, "01_baseline");
  {
    Learning first(course, {"learn", "02"});
    CHECK_THAT(first.ask("many"),
               says("First, a question from lesson 01_baseline") && says("How many GPUs?"));
    CHECK_THAT(first.ask("?"), says("\"many\""));
    CHECK_THAT(first.ask("12"), says("Hint 1 of 1: Multiply."));
    CHECK_THAT(first.enter(), says("Understood as 12 GPUs.") && says("01.gpus: not right") &&
                                  says("12 GPUs said, 16 GPUs it is.") && says("matters"));
    CHECK_THAT(first.enter(), says("Claim") && says("Reading needs nothing that the step computes."));
    first.enter("q");
    CHECK_THAT(first.rest(), says("[ ] read"));
  }
  {
    Learning second(course, {"learn", "02"});
    CHECK_THAT(second.enter(), says("Claim") && !says("First, a question from lesson"));
    CHECK_THAT(second.enter(), says("Threads read ahead.") && !says("hidden") && !says("A queue."));
    CHECK_THAT(second.enter(), says("Goal 2 of 3") && says("How it waits. A queue."));
    CHECK_THAT(second.ask("1 because more threads fight"),
               says("which number is fastest?") && !says("Processors that wait"));
    second.ask("q");
    second.rest();
  }
  CHECK(stands(course)["next"] == "goal 2");
  {
    Learning third(course, {"learn", "02"});
    CHECK_THAT(third.ask("l"),
               says("Which line makes the threads?") && !says("fastest?") && !says("A queue."));
    CHECK_THAT(third.ask("loader"), says("  1  ") && says("WorkerLoader loader("));
    CHECK_THAT(third.ask("main.cpp:1"), says("\"loader\" stands in lines "));
    CHECK_THAT(third.enter(), says("This needs 6 runs, about") && says("start them?"));
    CHECK_THAT(third.enter("p"), says("run 6 of 6") && says("02.best_workers: not right") &&
                                     says("One thread reads a batch at a time") && !says("share the wait"));
    CHECK_THAT(third.enter(),
               says("figures of its author's machine") && says("More threads share the wait."));
    CHECK_THAT(third.enter("q"), says("02.where: not right"));
    third.rest();
  }
  CHECK(stands(course)["next"] == "goal 3");
  {
    Learning fourth(course, {"learn", "02"});
    CHECK_THAT(fourth.ask("stops"), says("Goal 3 of 3") && says("A mistake on purpose") && says("×"));
    CHECK_THAT(fourth.enter(), says("This needs 1 run, about"));
    CHECK_THAT(fourth.enter(), says("02.nan: right"));
    CHECK_THAT(fourth.enter(), says("earned") && says("1 of 3 answers in this lesson were right") &&
                                   says("typically off by"));
    CHECK_THAT(fourth.rest(), says("[x] goal 3") && says("[ ] goal 2"));
  }
  CHECK(stands(course)["next"] == Json());
  CHECK(read_progress(course.progress()).answers.at(1).thought == "more threads fight");
  // Its questions have no other numbers: it stays open, and nothing is offered.
  CHECK_THAT(course.run({"learn"}).out, says("02_workers") && says("1 of 3 goals"));
}

TEST_CASE("a goal whose answers were wrong is asked again with other numbers until it is earned") {
  const MadeCourse course;
  mark_done(course, {"read"}, "01_baseline");
  {
    Learning first(course, {"learn", "01"});
    CHECK_THAT(first.ask("12"), says("4 ranks share a model, and there are 4 models"));
    CHECK_THAT(first.enter(), says("01.gpus: not right"));
    CHECK_THAT(first.enter(), says("not earned yet: it is asked again"));
    CHECK_THAT(first.ask("16"), says("2 ranks share a model, and there are 3 models"));
    CHECK_THAT(first.enter(), says("not right"));
    CHECK_THAT(first.ask("q"), says("8 ranks share a model, and there are 2 models"));
    first.rest();
  }
  const auto goal = [&](const char* what) {
    const Json lesson = Json::parse(course.run({"learn", "01", "--json"}).out);
    return lesson["goals"][0][what];
  };
  CHECK(goal("earned") == Json(false));
  CHECK(goal("again").values().size() == 1);
  CHECK_THAT(course.run({"learn"}).out, says("0 of 3 goals; 1 question to try again"));
  {
    Learning second(course, {"learn", "01"});
    second.ask("16");
    CHECK_THAT(second.enter(), says("01.gpus: right"));
    CHECK_THAT(second.ask("16"), says("2 ranks share a model, and there are 8 models"));
    CHECK_THAT(second.enter(), says("01.gpus: right"));
    CHECK_THAT(second.rest(), says("[x] goal 1"));
  }
  CHECK(goal("earned") == Json(true));
}

TEST_CASE("an answer that was stored goes on to its reveal, and the next visit asks other numbers") {
  const MadeCourse course;
  mark_done(course, {"read"}, "01_baseline");
  const auto gpus = [&](const std::string& answer) {
    return course.run({"quiz", "01.gpus", "--again", "--answer", answer});
  };
  CHECK_THAT(gpus("12").out, says("16 GPUs it is"));
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.ask("6"), says("First, a question from lesson") && says("2 ranks share a model"));
  CHECK_THAT(walk.enter("q"), says("01.gpus: right"));
  walk.rest();
}

TEST_CASE("a lesson opens with questions of lessons that were read, and only with those") {
  const MadeCourse course;
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.enter("q"), says("Claim") && !says("First, a question from lesson"));
  walk.rest();
}

TEST_CASE("the core path asks only the questions that carry a lesson") {
  const MadeCourse course;
  const std::filesystem::path file = course.home() / "lessons/02_workers/questions.toml";
  std::string text = read_text_file(file, 1 << 20);
  text.replace(text.find("id = \"02.where\""), 15, "id = \"02.where\"\ncore = true");
  write_file_whole(file, std::string_view(text));
  mark_done(course, {"read"});
  Learning walk(course, {"learn", "02", "--core"});
  walk.enter();
  CHECK_THAT(walk.ask("WorkerLoader loader("), says("Which line makes") && !says("fastest?"));
  CHECK_THAT(walk.enter(), says("02.where: right"));
  walk.enter("q");
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
  Learning walk(course, {"learn", "02"});
  CHECK_THAT(walk.ask("q"), says("02.best_workers: ") && says("no key") && says("Goal 3"));
  walk.rest();
  CHECK(stands(course)["next"] == "goal 2");
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

TEST_CASE("a goal whose runs cannot be made is passed over and stays open") {
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
  CHECK_THAT(walk.enter("q"), says("cannot answer"));
  walk.rest();
  CHECK(stands(course)["next"] == "goal 2");
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
  const std::string idea = "## Claim\n\nc\n\n## Idea\n\n**One** two\n\n**Not** so\nlong\n\n**In.** x\n";
  const std::vector<PagePiece> pieces = page_pieces(idea);
  REQUIRE(pieces.size() == 4);
  CHECK((pieces[0].title == "Claim" && pieces[1].title == "One" && pieces[3].title == "In"));
  CHECK(pieces[2].text == "**Not** so\nlong\n\n");
  CHECK(page_pieces("## Idea\n\nplain\n\n**B** c\n").at(0).title == "Idea");
  CHECK(page_pieces("no section").empty());
  CHECK(plain_lines("[[2 &lt;x x&gt;, 2 &lt;x&gt;]] &amp; &#945; &#x3B1; `&lt;` &nosuch; & a;", 80) ==
        std::vector<std::string>{"  [[2 <x x>, 2 <x>]] & \u03b1 \u03b1 &lt; &nosuch; & a;"});
  CHECK(plain_lines("## 1 &lt; 2\n\n| &lt;a&gt; | b |\n|---|---|\n| 1 | &times; |\n\n&#27;[31m", 80) ==
        std::vector<std::string>{"1 < 2", "", "  <a>  b", "  1    \u00d7", "", "  ?[31m"});
  CHECK(plain_lines("", 80).empty());
  CHECK(plain_lines("a\n" + std::string(5, '*') + "\n| x", 0).size() >= 1);  // any text, any width
}
