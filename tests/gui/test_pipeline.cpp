// The view of a pipeline: all ranks in one picture, the schedule below it, memory of ranks, and runs without
// one; and the pipeline whose numbers are turned.
#include "gui/headless.h"
#include "panels/views.h"
#include "support/catch.h"
#include "support/made_memory.h"
#include "support/made_pipeline.h"
#include "support/says.h"

namespace isobar::test_gui_pipeline {

namespace fs = std::filesystem;

namespace {

fs::path made_run(const TempFolder& folder, const std::string& name, const MadePipeline& made) {
  const fs::path run = folder / "runs" / name;
  fs::create_directories(run);
  made.write(run);
  return run;
}

void show(Headless& window, const fs::path& run) {
  show_run(window, run, "15_pipeline", View::pipeline, window.state().pipeline.run);
}

}  // namespace

TEST_CASE("Pipeline draws a step of all ranks, and below it the schedule and memory of ranks") {
  const TempFolder folder;
  const fs::path run = made_run(folder, "four", {.ranks = 4, .parts = 8, .steps = 12, .message_us = 400});
  write_memory(run, made_memory());
  Headless window(options_in(folder), 1700, 1000);
  show(window, run);
  REQUIRE((window.has("pipeline") && window.has("scheduled")));
  CHECK(window.box("scheduled").y0 >= window.box("pipeline").y1);
  const Theme& theme = window.app().ui().theme();
  const int forward = window.count_colour(window.box("pipeline"), stage_colour(theme, "forward"));
  CHECK(forward > 2000);
  CHECK(window.count_colour(window.box("pipeline"), stage_colour(theme, "backward")) > forward);
  CHECK(window.has("memory of rank 0"));
  window.click("Earlier");
  window.settle();
  const std::int64_t step = window.state().pipeline.made->drawn.step;
  window.click("Later");
  window.settle();
  CHECK(window.state().pipeline.made->drawn.step == step + 1);
  for (int i = 0; i < 15 && window.has("Earlier"); ++i) window.click("Earlier");
  CHECK_FALSE(window.has("Earlier"));  // no further than the first that was traced
  window.settle();
  REQUIRE(window.state().pipeline.made);
  CHECK(window.state().pipeline.made->drawn.step == 0);
  window.click("With its schedule");
  window.settle();
  CHECK_FALSE(window.has("scheduled"));
}

TEST_CASE("Pipeline draws the ranks that have spans, and nothing for a run without a pipeline") {
  const TempFolder folder;
  const fs::path bare = write_run(folder, {.name = "bare"});
  const fs::path part = made_run(folder, "part", {.ranks = 2, .steps = 12});
  fs::remove(RunFolder{part}.spans_file(0));
  Headless window(options_in(folder));
  show(window, bare);
  CHECK_FALSE(window.has("pipeline"));
  show(window, part);
  CHECK(window.has("pipeline"));
  CHECK(window.state().pipeline.made->drawn.named == std::vector<int>{1});
  CHECK_FALSE(window.state().pipeline.made->drawn.is_whole);
}

TEST_CASE("Its pipeline plays a step of the form's numbers") {
  const TempFolder folder;
  Headless window(options_in(folder), 1700, 1000);
  window.settle();
  window.state().lesson = "15_pipeline";
  window.settle();
  window.click("Predict");
  window.click("Its pipeline");
  window.settle();
  const auto play = [&](const char* pp, const char* parts) -> const PipelinePlay& {
    window.state().form().set("mesh.pp", pp);
    window.state().form().set("train.accumulate", parts);
    window.frames(4);
    return window.state().play.pipeline;
  };
  CHECK(play("4", "8").made.course.idle_share() == Approx(3.0 / 11));
  CHECK(window.has("predicted-pipeline"));
  CHECK(play("2", "8").made.ranks() == 2);
  window.click("10 %");
  CHECK(window.state().play.pipeline.made.course.idle_share() > 1.0 / 9);
  CHECK_THAT(play("4096", "4096").problem, says("too much to draw"));
  CHECK_FALSE(window.has("predicted-pipeline"));
  CHECK(play("2", "4").problem.empty());
}

}  // namespace isobar::test_gui_pipeline
