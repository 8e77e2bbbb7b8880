// Lesson 00 in the window: steps are taken one by one, forwards and back, from a start that is dragged.
#include "gui/headless.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// The view of lesson 00.
void open_descent(Headless& window) {
  window.settle();
  window.click("lesson 00_sgd");
  window.frames(4);
  window.click("Descent");
  window.frames(4);
  REQUIRE(window.state().descent.walk);
}

}  // namespace

TEST_CASE("The line is walked step by step, there and back, and the numbers are those of the walk") {
  const TempFolder folder;
  Headless window(options_in(folder));
  open_descent(window);
  const DescentState& mine = window.state().descent;
  CHECK(mine.shown == 0);
  CHECK_FALSE(window.has("Predict"));  // no formula predicts this lesson
  window.click("step forward");
  window.click("step forward");
  CHECK(mine.shown == 2);
  const Descent walked = walk_descent(*mine.config, 3);
  const RankDescent& rank = mine.walk->so_far().ranks.front();
  REQUIRE(rank.steps.size() == 3);  // the third is the arrow
  CHECK(rank.path() == walked.ranks.front().path());
  window.click("step back");
  CHECK(mine.shown == 1);
  window.click("To the end");
  CHECK(mine.is_at_end());
  window.click("To the start");
  CHECK(mine.shown == 0);
  window.click("play steps");
  window.until("some steps to be played", [&] { return mine.shown >= 3; });
  CHECK(mine.playing);
  window.click("play steps");
  CHECK_FALSE(mine.playing);
}

TEST_CASE("A dragged start is a setting of the next run") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "");
  Headless window(options);
  open_descent(window);
  const Box start = window.box("descent start");
  const ImVec2 from{(start.x0 + start.x1) / 2, (start.y0 + start.y1) / 2};
  window.drag(from, {from.x + 60, from.y + 40});
  window.frames(4);
  const DescentState& mine = window.state().descent;
  CHECK(mine.config->model.slope > 0.05);
  CHECK(mine.config->model.intercept < 1.95);
  CHECK(mine.walk->so_far().ranks.front().start ==
        Line{mine.config->model.slope, mine.config->model.intercept});
  window.click("run descent");
  window.until("the run to be started", [&] { return fs::exists(folder / "arguments"); });
  CHECK(text_of(folder / "arguments").find("model.slope=") != std::string::npos);
}

TEST_CASE("A mistake takes the ranks that it needs, and settings that cannot be are said") {
  const TempFolder folder;
  Headless window(options_in(folder));
  open_descent(window);
  window.click("descent fault");
  window.frames(2);
  window.click("no_broadcast");
  window.frames(4);
  const DescentState& mine = window.state().descent;
  REQUIRE(mine.walk->so_far().ranks.size() == 4);
  CHECK(mine.walk->so_far().ranks[1].start != mine.walk->so_far().ranks[0].start);
  window.state().form().changed["train.global_batch"] = "2000";
  window.state().form().stale = true;
  window.frames(4);
  CHECK_FALSE(mine.walk);
  CHECK(mine.problem.find("a batch of 500 is larger than the 250 samples") != std::string::npos);
}
