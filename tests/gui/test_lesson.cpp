// The Lesson panel: parts, goals, folded parts, links, words that are explained, measurements.
#include <fmt/format.h>

#include "gui/made_course.h"
#include "gui/made_questions.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr const char* kPage = R"(# 01 Made up

## Claim

A claim with a bucket in it. See [the next](../02_workers), [the web](https://isobar.example/a?b=c),
[main](main.cpp#L5), [base](../base.toml), [evil](file:///etc/passwd) and [reveal](reveal.md).

## Predict

Say it first.

## Run

    ./isobar run 01_baseline

## Break

It breaks.

<details><summary>Settings</summary>

    ./isobar help

</details>
)";

constexpr float kHigh = 1600;

struct Lesson {
  explicit Lesson(const std::string& body = "", std::function<void(const std::string&)> visit = {})
      : course(kMadeQuestions) {
    write_file_whole(course.folder / "home/lessons/01_baseline/README.md", std::string_view(kPage));
    write_file_whole(
        course.folder / "home/lessons/01_baseline/reveal.md",
        std::string_view("# Reveal\n\n## where\n\n    ./isobar answer\n\n## More\n\n    ./isobar more\n"));
    AppOptions options = course.options();
    options.isobar = fake_isobar(course.folder, body);
    options.visit = std::move(visit);
    write_file_whole(options.browser, std::string_view("#!/bin/bash\nprintf '%s\\n' \"$@\" >'" +
                                                       seen().string() + ".part' && mv '" + seen().string() +
                                                       ".part' '" + seen().string() + "'\n"));
    fs::permissions(options.browser, fs::perms::owner_all);
    window.emplace(options, 1440, kHigh);
    window->settle();
  }
  fs::path seen() const { return course.folder / "seen"; }

  CourseFolder course;
  std::optional<Headless> window;
};

}  // namespace

TEST_CASE("A lesson begins with reading, then goes goal by goal; the last part shows the rest of the page") {
  Lesson lesson;
  Headless& window = *lesson.window;
  for (const char* const part : {"part read", "part goal 1", "part goal 2", "part goal 3", "part build"})
    CHECK(window.has(part));
  CHECK(window.has("link https://isobar.example/a?b=c"));
  CHECK_FALSE(window.has("code ./isobar run 01_baseline"));
  CHECK_FALSE(window.has("Commit"));
  CHECK_FALSE(window.has("on to goal 1"));  // before it was read
  window.click("part build");
  CHECK(window.has("code ./isobar run 01_baseline"));
  CHECK(window.has("measure Quartet"));
  CHECK_FALSE(window.has("link https://isobar.example/a?b=c"));
  window.click("part goal 1");
  CHECK(window.has("Commit"));
  CHECK_FALSE(window.has("code ./isobar run 01_baseline"));
  CHECK_FALSE(window.has("measure Quartet"));
  window.click("part read");
  window.click("I have read it");
  window.until("the part to be kept",
               [&] { return window.app().course()->lessons.at("01_baseline").parts.front().done; });
  CHECK(window.state().course.parts.at("01_baseline") == 1);
  CHECK(read_progress(lesson.course.progress()).done.at("01_baseline") == std::vector<std::string>{"read"});
  window.click("part read");
  window.click("on to goal 1");
  CHECK(window.state().course.parts.at("01_baseline") == 1);
  window.click("on to goal 2");
  window.click("on to goal 3");
  window.click("on to build");
  window.frames(2);
  CHECK(window.has("code ./isobar run 01_baseline"));
}

TEST_CASE("What is folded is unfolded by a click") {
  Lesson lesson;
  Headless& window = *lesson.window;
  window.click("part build");
  window.frames(2);
  REQUIRE(window.has("fold Settings"));
  CHECK_FALSE(window.has("code ./isobar help"));
  window.click("fold Settings");
  window.frames(2);
  CHECK(window.has("code ./isobar help"));
  window.click("fold Settings");
  window.frames(2);
  CHECK_FALSE(window.has("code ./isobar help"));
}

TEST_CASE("A link of the web is told to a browser that is elsewhere, and none is started here") {
  std::vector<std::string> told;
  Lesson lesson("", [&](const std::string& address) { told.push_back(address); });
  lesson.window->click("link https://isobar.example/a?b=c");
  CHECK(told == std::vector<std::string>{"https://isobar.example/a?b=c"});
  lesson.window->click("link file:///etc/passwd");
  CHECK(told.size() == 1);
  CHECK_FALSE(fs::exists(lesson.course.options().logs / "browser.log"));  // which is made before it starts
}

TEST_CASE("Links are followed where they may be") {
  Lesson lesson;
  Headless& window = *lesson.window;
  window.click("link https://isobar.example/a?b=c");
  window.until("the browser", [&] { return fs::exists(lesson.seen()); });
  CHECK(text_of(lesson.seen()) == "https://isobar.example/a?b=c\n");
  CHECK(std::string(ImGui::GetClipboardText()) == "https://isobar.example/a?b=c");
  fs::remove(lesson.seen());
  window.click("link file:///etc/passwd");
  CHECK(window.state().view == View::watch);
  CHECK_FALSE(fs::exists(lesson.seen()));
  window.click("link main.cpp#L5");
  CHECK(window.state().view == View::code);
  CHECK(window.state().code.line == 5);
  window.click("link ../base.toml");
  CHECK(window.state().code.file == "lessons/base.toml");
  window.frames(2);
  window.click("back to main.cpp");
  CHECK(window.state().code.file.empty());
  window.click("link reveal.md");
  CHECK(window.state().course.parts.count("01_baseline") == 0);  // nothing is committed yet
  window.click("link ../02_workers");
  CHECK(window.state().lesson == "02_workers");
}

TEST_CASE("The page that is kept back shows the section of each answered question, and the rest at the end") {
  Lesson lesson;
  Headless& window = *lesson.window;
  const auto play = [&](const std::string& id, const std::string& answer, bool reveal) {
    const Question question = find_question(lesson.course.folder / "home", id);
    write_fitting_runs(question, lesson.course.folder / "home", lesson.course.folder / "runs");
    show_card(window, question);
    answer_card(window, question, answer);
    if (reveal) reveal_card(window, question);
  };
  play("01.where", "1", true);
  CHECK_FALSE(window.has("code ./isobar answer"));  // on request
  window.click("more");
  window.frames(2);
  CHECK(window.has("code ./isobar answer"));
  window.click("part build");
  window.frames(4);
  CHECK_FALSE(window.has("code ./isobar answer"));
  CHECK_FALSE(window.has("code ./isobar more"));
  play("01.forward_ms", "5", true);
  CHECK_FALSE(window.has("more"));  // it has no section
  play("01.larger", "up", true);
  play("01.mistake", "rises", true);
  play("01.fastest", "slow", false);
  window.click("part build");
  window.frames(4);
  CHECK_FALSE(window.has("code ./isobar more"));  // the last one waits for its reveal
  show_card(window, find_question(lesson.course.folder / "home", "01.fastest"));
  reveal_card(window, find_question(lesson.course.folder / "home", "01.fastest"));
  window.click("part build");
  window.frames(4);
  CHECK(window.has("code ./isobar more"));
  window.click("part read");
  window.click("link reveal.md");
  CHECK(window.state().course.parts.at("01_baseline") == 1);
  show_card(window, find_question(lesson.course.folder / "home", "01.where"));
  CHECK(window.has("code ./isobar answer"));
}

TEST_CASE("A goal is ticked once all of its questions were revealed, and answered right") {
  Lesson lesson;
  Headless& window = *lesson.window;
  const Question question = find_question(lesson.course.folder / "home", "01.fastest");
  write_fitting_runs(question, lesson.course.folder / "home", lesson.course.folder / "runs");
  show_card(window, question);
  answer_card(window, question, "quick");
  CHECK_FALSE(window.has("goal earned"));
  window.click("part build");
  window.frames(2);
  CHECK_FALSE(window.has("reached goal 3"));
  show_card(window, question);
  REQUIRE(reveal_card(window, question) == Outcome::right);
  window.frames(2);
  CHECK(window.has("goal earned"));
  for (const char* const part : {"part build", "part read"}) {
    window.click(part);
    window.frames(4);
    CHECK(window.has("reached goal 3"));
    CHECK_FALSE(window.has("reached goal 1"));
  }
}

TEST_CASE(
    "A question of an earlier lesson opens a later one once its page was read, and goes when gone over") {
  Lesson lesson;
  Headless& window = *lesson.window;
  window.state().lesson = "02_workers";
  window.settle();
  CHECK(window.has("I have read it"));
  CHECK_FALSE(window.has("leave the question"));
  CHECK_FALSE(window.has("Commit"));
  ProgressWriter(lesson.course.progress()).done("01_baseline", "build");  // another part of it
  window.until("the part", [&] { return window.app().course()->progress.has_done("01_baseline", "build"); });
  CHECK_FALSE(window.has("leave the question"));
  ProgressWriter(lesson.course.progress()).done("01_baseline", "read");
  window.until("the question", [&] { return window.has("leave the question"); });
  CHECK(window.state().course.question == "01.forward_ms");
  const float first = window.box("Commit").y0;
  CHECK(first < kHigh / 2);  // before the page
  window.click("leave the question");
  window.until("the card to go", [&] { return !window.has("leave the question"); });
  CHECK(read_progress(lesson.course.progress()).done.at("02_workers") ==
        std::vector<std::string>{"opening 01.forward_ms"});
}

TEST_CASE("An opening question that was answered stays until it is left, and does not come back") {
  Lesson lesson;
  Headless& window = *lesson.window;
  const fs::path home = lesson.course.folder / "home";
  const Question question = find_question(home, "01.forward_ms");
  write_fitting_runs(question, home, lesson.course.folder / "runs");
  ProgressWriter(lesson.course.progress()).done("01_baseline", "read");
  window.until("the runs", [&] { return window.app().feed_state().runs->runs.size() == 3; });
  window.settle();
  window.state().lesson = "02_workers";  // a new run showed its own
  window.until("the question", [&] { return window.has("leave the question"); });
  answer_card(window, question, "5 ms");
  REQUIRE(reveal_card(window, question) == Outcome::right);
  window.frames(2);
  CHECK(window.has("outcome right"));
  CHECK(window.has("leave the question"));
  lesson.window.reset();
  // Nothing is left of it to ask.
  Headless later(lesson.course.options(), 1440, kHigh);
  later.settle();
  later.state().lesson = "02_workers";
  later.settle();
  CHECK(later.has("I have read it"));
  CHECK_FALSE(later.has("leave the question"));
}

TEST_CASE("A word of the glossary shows what it means") {
  Lesson lesson;
  Headless& window = *lesson.window;
  REQUIRE(window.has("word bucket"));
  const Box word = window.box("word bucket");
  window.move_to((word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2);
  window.frames(3);
  CHECK(window.has("meaning of bucket"));
  window.move_to(20, 20);
  CHECK_FALSE(window.has("meaning of bucket"));
}

TEST_CASE("Quartet, sweep and ladder are started from the lesson with the settings of its form") {
  Lesson lesson("echo measuring; sleep 30\n");
  Headless& window = *lesson.window;
  window.state().form().preset = "cpu_micro";
  window.state().form().changed["optim.lr"] = "0.002";
  window.state().form().stale = true;
  window.click("part build");
  window.frames(4);
  const auto started = [&](const std::string& item) {
    fs::remove(lesson.course.folder / "arguments");
    window.click(item);
    window.until("the program", [&] { return fs::exists(lesson.course.folder / "arguments"); });
    CHECK_FALSE(window.has(item));  // in its place, greyed
    const std::string words = text_of(lesson.course.folder / "arguments");
    window.until("what it says", [&] { return window.has("stop measuring"); });
    window.click("stop measuring");
    window.until("the stop", [&] { return !window.app().launcher().is_running(); });
    window.frames(2);
    return words;
  };
  const std::string settings = "--preset\ncpu_micro\n--set\noptim.lr=0.002\n";
  CHECK(started("measure Quartet") == "quartet\n01_baseline\n" + settings);
  CHECK(started("measure Run") == "run\n01_baseline\n" + settings);
  CHECK(started("measure Ladder") == "ladder\n");
  CHECK_FALSE(window.has("measure Scale"));  // this lesson has no ranks
  window.type("sweep", "no axis");
  CHECK_FALSE(window.has("measure Sweep"));
  window.type("sweep", "data.shuffle=true,false");
  CHECK(started("measure Sweep") == "sweep\n01_baseline\ndata.shuffle=true,false\n" + settings);
}

TEST_CASE("A sweep that was emptied stays empty") {
  Lesson lesson;
  Headless& window = *lesson.window;
  window.click("part build");
  window.frames(4);
  window.type("sweep", "");
  window.frames(2);
  CHECK(window.state().course.sweeps.at("01_baseline").empty());
  CHECK_FALSE(window.has("measure Sweep"));
}

TEST_CASE("With three numbers and more, how near they come is drawn") {
  Lesson lesson;
  Headless& window = *lesson.window;
  window.click("part build");
  window.frames(2);
  CHECK_FALSE(window.has("calibration"));
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        "{{\"schema\":1,\"kind\":\"answer\",\"time\":\"2026-11-25T09:0{0}:00Z\",\"id\":\"01.old_{0}\","
        "\"lesson\":"
        "\"01_baseline\",\"asked\":\"number\",\"answer\":\"{1}\",\"number\":{1},\"unit\":\"ms\"}}\n"
        "{{\"schema\":1,\"kind\":\"reveal\",\"time\":\"2026-11-25T09:0{0}:01Z\",\"id\":\"01.old_{0}\","
        "\"outcome\":"
        "\"right\",\"truth\":\"10 ms\",\"number\":10,\"source\":\"measured "
        "here\",\"runs\":[],\"formula_ms\":31,"
        "\"step_ms\":33}}\n",
        i, 5 + 3 * i);
  }
  write_file_whole(lesson.course.progress(), std::string_view(text));
  window.until("the plot", [&] { return window.has("calibration"); });
}
