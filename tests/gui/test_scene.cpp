// Scenes in the window: steps are taken one by one, forwards and back, played, and taken hold of.
#include "00_sgd/view/fit_scene.h"
#include "09_all_reduce/view/schedule_scene.h"
#include "gui/headless.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// The scene of this lesson.
SceneState& open_scene(Headless& window, const std::string& lesson, const std::string& title) {
  window.settle();
  window.state().lesson = lesson;
  window.frames(4);
  window.click(title);
  window.frames(4);
  REQUIRE(window.state().scenes.by_title.contains(title));
  return window.state().scenes.by_title.at(title);
}

const lesson_00::FitScene& fit_of(const SceneState& state) {
  return dynamic_cast<const lesson_00::FitScene&>(*state.scene);
}

const lesson_09::Schedule& schedule_of(const SceneState& state) {
  return dynamic_cast<const lesson_09::ScheduleScene&>(*state.scene).schedule().value();
}

}  // namespace

TEST_CASE("The line is walked step by step, there and back") {
  const TempFolder folder;
  Headless window(options_in(folder));
  const SceneState& mine = open_scene(window, "00_sgd", "Descent");
  CHECK(mine.shown == 0);
  CHECK_FALSE(window.has("Predict"));  // no formula predicts this lesson
  window.click("step forward");
  window.click("step forward");
  CHECK(mine.shown == 2);
  window.click("step back");
  CHECK(mine.shown == 1);
  window.click("To the end");
  CHECK(mine.shown == mine.scene->last());
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
  const SceneState& mine = open_scene(window, "00_sgd", "Descent");
  const Box start = window.box("scene start");
  const ImVec2 from{(start.x0 + start.x1) / 2, (start.y0 + start.y1) / 2};
  window.drag(from, {from.x + 60, from.y + 40});
  window.frames(4);
  const Config& config = fit_of(mine).config();
  CHECK(config.model.slope > 0.05);
  CHECK(config.model.intercept < 1.95);
  CHECK(fit_of(mine).walk()->so_far().ranks.front().start ==
        Line{config.model.slope, config.model.intercept});
  window.click("run scene");
  window.until("the run to be started", [&] { return fs::exists(folder / "arguments"); });
  CHECK(text_of(folder / "arguments").find("model.slope=") != std::string::npos);
}

TEST_CASE("A mistake is chosen from a list, and settings that cannot be are said") {
  const TempFolder folder;
  Headless window(options_in(folder));
  const SceneState& mine = open_scene(window, "00_sgd", "Descent");
  window.click("scene fault");
  window.frames(2);
  window.click("no_broadcast");
  window.frames(4);
  CHECK(fit_of(mine).walk()->so_far().ranks.size() == 4);
  window.state().form().changed["train.global_batch"] = "2000";
  window.state().form().stale = true;
  window.frames(4);
  CHECK_FALSE(fit_of(mine).walk());
}

TEST_CASE("An all-reduce is stepped through by buttons, keys and its clock until all hold the sum") {
  const TempFolder folder;
  Headless window(options_in(folder));
  const SceneState& mine = open_scene(window, "09_all_reduce", "Messages");
  window.click("step forward");
  window.key('N');
  CHECK(mine.shown == 2);
  window.key('B');
  CHECK(mine.shown == 1);
  window.click("To the end");
  CHECK(mine.shown == 6);
  CHECK(schedule_of(mine).after(mine.shown).all_hold_the_sum());
  CHECK_FALSE(window.has("step forward"));  // there is no further one
  window.key('N');
  CHECK(mine.shown == 6);
  const Box clock = window.box("messages clock");
  window.click_at(clock.x0 + 2, (clock.y0 + clock.y1) / 2);
  CHECK(mine.shown == 0);
  window.click("play steps");
  window.until("two steps to be played", [&] { return mine.shown >= 2; });
  window.click_at(clock.x1 - 2, (clock.y0 + clock.y1) / 2);
  CHECK(mine.shown == mine.scene->last());
  CHECK_FALSE(mine.playing);
}

TEST_CASE("Knobs and choices of an all-reduce are turned") {
  const TempFolder folder;
  Headless window(options_in(folder));
  const SceneState& mine = open_scene(window, "09_all_reduce", "Messages");
  window.click("step forward");
  window.click("tree");
  CHECK(schedule_of(mine).kind == AllReduceKind::tree);
  CHECK(mine.shown == 0);
  const Box ranks = window.box("messages ranks");
  window.click_at(ranks.x1 - 4, (ranks.y0 + ranks.y1) / 2);
  CHECK(schedule_of(mine).ranks == 16);
}

TEST_CASE("A lesson without a scene has none in its tabs, and says so where one was asked for") {
  const TempFolder folder;
  Headless window(options_in(folder));
  window.settle();
  window.click("lesson 01_baseline");
  window.frames(4);
  CHECK_FALSE(window.has("Messages"));
  window.state().view = View::scene;
  window.frames(4);
  CHECK(window.state().scenes.by_title.empty());
  window.state().scenes.wanted = "messages";  // as --panel messages
  window.frames(4);
  CHECK(window.state().scenes.by_title.contains("Messages"));
  window.state().scenes.wanted = "descent";  // which is made of its own lesson's settings
  window.frames(4);
  window.click("Go to 00_sgd");
  window.frames(4);
  CHECK(window.state().lesson == "00_sgd");
}
