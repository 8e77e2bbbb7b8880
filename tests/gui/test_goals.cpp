// The goals of a lesson in the window: what is read before their questions and after them, and what earns
// one.
#include "gui/made_course.h"
#include "support/catch.h"

namespace isobar::test_goals {

namespace {

constexpr float kWide = 1440, kHigh = 1600;
constexpr const char* kLesson = "01_baseline";

constexpr const char* kPage = R"md(# 01 Made up

## Claim

    ./isobar claim

## Picture

    ./isobar picture

## Idea

**The ring.** It has two halves.

    ./isobar ring

**The chunk.** It is a part.

    ./isobar chunk

## Run

    ./isobar run 01_baseline
)md";

constexpr const char* kQuestions = R"toml(
[[goal]]
reads = ["The ring"]
closes = ["Picture"]
notice = "A ring takes as many steps for small chunks as for large ones."
try = "Take a larger rate: ./isobar run 01_baseline --set optim.lr=0.1 and then ./isobar show last"

[[goal]]
reads = ["The chunk"]

[[question]]
id = "01.ring_steps"
from = "a test"
kind = "number"
beat = "predict"
goal = 1
unit = "steps"
draw = { ranks = ["4", "6", "8", "10", "12"] }
ask = "How many steps does a ring of {ranks} ranks take?"
why = "Each has a latency."
giveaway = ["takes 2"]
rule = "calculation"
with = { is = "2 * ({ranks} - 1)" }
hints = ["It has two halves."]
wrong = [{ answer = "below", says = "That is one half of {value}." }]
reveal = "{ranks} ranks take {value} steps."

[[question]]
id = "01.second"
from = "a test"
kind = "number"
beat = "predict"
goal = 1
unit = "steps"
ask = "How many steps are two and two?"
why = "It is a sum."
giveaway = ["the sum is"]
rule = "calculation"
with = { is = "2 + 2" }
hints = ["Count."]
reveal = "{value}."

[[question]]
id = "01.once"
from = "a test"
kind = "number"
beat = "predict"
goal = 2
unit = "steps"
ask = "How many steps are three and three?"
why = "It is a sum."
giveaway = ["the sum is"]
rule = "calculation"
with = { is = "3 + 3" }
hints = ["Count."]
reveal = "{value}."
)toml";

/// Somebody at the first goal of a lesson that asks for numbers which no run decides.
struct Learner {
  Learner() {
    write_file_whole(course.folder / "home/lessons/01_baseline/README.md", std::string_view(kPage));
    window.emplace(course.options(), kWide, kHigh);
    window->settle();
  }
  /// The answer to what the card asks now.
  Outcome play(const std::string& id, const std::string& answer) {
    const Question question = find_question(course.folder / "home", id);
    show_card(*window, question);
    answer_card(*window, question, answer);
    const Outcome out = reveal_card(*window, question);
    window->frames(2);
    return out;
  }
  Outcome play_again(const std::string& id, const std::string& answer) {
    window->click("Ask again");
    return play(id, answer);
  }
  std::string drawn() const { return read_progress(course.progress()).answers.back().drawn; }
  LessonProgress progress() { return window->app().course()->lessons.at(kLesson); }
  GoalState goal(std::size_t index) { return progress().goals.at(index); }
  bool is_ticked(std::size_t part) { return progress().parts.at(part).ticked; }

  CourseFolder course{kQuestions};
  std::optional<Headless> window;
};

}  // namespace

TEST_CASE("A goal shows the pieces that it reads, and after its last reveal what would have answered it") {
  Learner learner;
  Headless& window = *learner.window;
  CHECK(window.has("code ./isobar claim"));
  for (const char* const of_goal : {"code ./isobar picture", "code ./isobar ring", "code ./isobar chunk"})
    CHECK_FALSE(window.has(of_goal));
  window.click("part goal 1");
  window.frames(2);
  CHECK(window.has("code ./isobar ring"));
  CHECK(window.box("code ./isobar ring").y1 < window.box("Commit").y0);
  for (const char* const other : {"code ./isobar claim", "code ./isobar picture", "code ./isobar chunk"})
    CHECK_FALSE(window.has(other));
  learner.play("01.ring_steps", "6");
  CHECK(window.has("code ./isobar ring"));
  CHECK_FALSE(window.has("code ./isobar picture"));
  CHECK_FALSE(window.has("goal earned"));
  const char* const tried = "code ./isobar run 01_baseline --set optim.lr=0.1";
  CHECK_FALSE(window.has(tried));
  learner.play("01.second", "4");
  CHECK(window.has("code ./isobar ring"));
  REQUIRE(window.has("code ./isobar picture"));
  CHECK(window.box("code ./isobar picture").y0 > window.box("Ask again").y1);
  CHECK(window.has("goal earned"));
  window.click(tried);
  CHECK(std::string(ImGui::GetClipboardText()) ==
        "./isobar run 01_baseline --set optim.lr=0.1\n./isobar show last");
  window.click("on to goal 2");
  window.frames(2);
  CHECK(window.has("code ./isobar chunk"));
  CHECK_FALSE(window.has("code ./isobar ring"));
}

TEST_CASE("The picture of the learner's own run waits until all of the goal was revealed") {
  Learner learner;
  Headless& window = *learner.window;
  write_run(learner.course.folder, {.name = "mine"});
  window.until("the picture of the run", [&] { return window.app().course()->own != nullptr; });
  window.click("part goal 1");
  window.frames(4);
  CHECK(window.has("Commit"));
  CHECK_FALSE(window.has("from your run"));
  learner.play("01.ring_steps", "6");
  CHECK_FALSE(window.has("from your run"));
  learner.play("01.second", "4");
  window.frames(4);
  CHECK(window.has("from your run"));
}

TEST_CASE(
    "A wrong answer leaves a goal open; Ask again asks with other numbers, and two right ones earn it") {
  Learner learner;
  Headless& window = *learner.window;
  REQUIRE(learner.play("01.second", "4") == Outcome::right);
  REQUIRE(learner.play("01.ring_steps", "3") == Outcome::not_right);
  CHECK(learner.drawn() == "ranks=4");
  CHECK(window.has("goal not earned"));
  CHECK_FALSE(learner.goal(0).earned);
  CHECK_FALSE(learner.is_ticked(1));
  CHECK(learner.goal(0).again == std::vector<std::string>{"01.ring_steps"});
  // The answer to the numbers of before is wrong for those that are asked now.
  REQUIRE(learner.play_again("01.ring_steps", "6") == Outcome::not_right);
  CHECK(learner.drawn() == "ranks=6");
  CHECK(window.has("goal not earned"));
  REQUIRE(learner.play_again("01.ring_steps", "14") == Outcome::right);
  CHECK(learner.drawn() == "ranks=8");
  CHECK(window.has("goal not earned"));  // after two wrong ones
  CHECK_FALSE(learner.goal(0).earned);
  REQUIRE(learner.play_again("01.ring_steps", "18") == Outcome::right);
  CHECK(learner.drawn() == "ranks=10");
  CHECK(window.has("goal earned"));
  CHECK(learner.goal(0).earned);
  CHECK(learner.is_ticked(1));
  CHECK_FALSE(learner.is_ticked(2));
  // Another window finds the newest variant, with its answer.
  learner.window.reset();
  Headless later(learner.course.options(), kWide, kHigh);
  later.settle();
  show_card(later, find_question(learner.course.folder / "home", "01.ring_steps"));
  later.until("what was revealed", [&] { return later.has("outcome right"); });
  CHECK(later.app().course()->of("01.ring_steps")->now->ask ==
        "How many steps does a ring of 10 ranks take?");
  CHECK(later.app().course()->of("01.ring_steps")->again->ask ==
        "How many steps does a ring of 12 ranks take?");
}

TEST_CASE("The same answer once more earns nothing") {
  Learner learner;
  REQUIRE(learner.play("01.once", "7000") == Outcome::not_right);
  REQUIRE(learner.play_again("01.once", "6") == Outcome::right);
  CHECK(learner.window->has("goal not earned"));
  CHECK_FALSE(learner.goal(1).earned);
  CHECK(learner.goal(1).again.empty());
}

}  // namespace isobar::test_goals
