// Several runs at once: which one is stopped, which one is chosen.
#include <fmt/format.h>

#include <set>

#include "core/files.h"
#include "fields/checkpoint_folder.h"
#include "gui/headless.h"
#include "support/catch.h"
#include "support/made_ranks.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("Stop ends the chosen run, not the one that was started here; a restart is forgotten by it") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "exec sleep 20\n");
  const fs::path other = write_run(folder, {.name = "live", .steps = 20, .status = ""});
  Headless window(options);
  window.settle();
  window.click("Settings");
  window.click("Start");
  REQUIRE(window.app().launcher().is_running());
  window.click("run live");
  window.settle();
  window.click("Stop run");
  CHECK(window.state().toast.find("not written by a process of this machine") != std::string::npos);
  CHECK(window.app().launcher().is_running());
  window.click("Restart with these");
  window.click("Stop");
  window.until("the end", [&] { return !window.app().launcher().is_running(); });
  window.frames(30);
  CHECK_FALSE(window.app().launcher().is_running());
}

TEST_CASE("Runs of the same name in two folders are two runs") {
  const TempFolder folder;
  write_run(folder, {.name = "00"});
  fs::create_directories(folder / "more");
  fs::copy(folder / "runs/00", folder / "more/00", fs::copy_options::recursive);
  AppOptions options = options_in(folder);
  options.places.push_back(folder / "more");
  Headless window(options);
  window.settle();
  std::set<std::string> chosen;
  for (const UiItem& item : std::vector<UiItem>(window.app().ui().items())) {
    if (item.name != "run 00") continue;
    window.click_at(item.box.x0 + 60, (item.box.y0 + item.box.y1) / 2);
    chosen.insert(window.state().run);
  }
  CHECK(chosen.size() == 2);
}

TEST_CASE("A run that ended early is resumed by its folder; one without a checkpoint says why it is not") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "exec sleep 20\n");
  const fs::path run = write_run(folder, {.name = "early", .steps = 20, .status = "stopped"});
  write_run(folder, {.name = "whole", .steps = 20, .status = "done"});
  Headless window(options);
  window.settle();
  window.click("run whole");
  window.settle();
  CHECK_FALSE(window.has("Resume"));
  window.click("run early");
  window.settle();
  window.click("Resume");
  CHECK(window.state().toast.find("saved no checkpoint") != std::string::npos);
  CHECK_FALSE(window.app().launcher().is_running());
  CheckpointWriter(run / "checkpoints", 10).finish();
  window.click("Resume");
  REQUIRE(window.app().launcher().is_running());
  window.until("the arguments", [&] { return fs::exists(folder / "arguments"); });
  CHECK(read_text_file(folder / "arguments", 10'000) == "run\n01_baseline\n--resume\n" + run.string() + "\n");
  CHECK(window.state().run == run.string());
}

TEST_CASE("A run that was stopped is no failure: its step is said, and Resume is offered") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.isobar = fake_isobar(folder, "for ((i = 0; i < 30000; ++i)); do sleep 0.02; done\n");
  Headless window(options);
  window.settle();
  window.click("Run");
  window.until("the arguments", [&] { return fs::exists(folder / "arguments"); });
  const fs::path run = write_run(folder, {.name = "mine", .steps = 20, .status = ""});
  CheckpointWriter(run / "checkpoints", 20).finish();
  const fs::path stream = RunFolder{run}.stream_file(0);
  std::string text = text_of(stream);
  text.replace(text.find("\"pid\":1"), 7, fmt::format("\"pid\":{}", window.app().launcher().last_pid()));
  write_file_whole(stream, std::string_view(text));
  const auto entry = [&] { return window.app().feed_state().runs->find(window.state().run); };
  window.until("its run", [&] { return entry() && entry()->view.summary.steps == 20; });
  window.click("Stop run");
  window.until("the end", [&] { return !window.app().launcher().is_running(); });
  CHECK(window.state().toast == "Stopped at step 20, checkpoint saved");
  CHECK(window.state().settings.console_height == 0);
  text += JsonLine("summary").add("steps", 20).text();
  text += JsonLine("end")
              .add("status", "stopped")
              .add("reason", "SIGINT after 20 steps, with a checkpoint")
              .text();
  write_file_whole(stream, std::string_view(text));
  window.until("its last line", [&] { return entry()->view.state == RunState::stopped; });
  CHECK(run_line(*entry()) == "stopped at step 20, checkpoint saved");
  fs::remove(folder / "arguments");
  window.click("message Resume");
  window.until("the arguments", [&] { return fs::exists(folder / "arguments"); });
  CHECK(text_of(folder / "arguments") == "run\n01_baseline\n--resume\n" + run.string() + "\n");
  window.app().launcher().stop();
  window.until("the end", [&] { return !window.app().launcher().is_running(); });
}

TEST_CASE("Ranks stand side by side, the straggler is marked, and a click shows its timeline") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "00"});
  MadeRanks made{.world = 3, .end = "done"};
  made.more = [](int rank, int step, JsonLine& line) {
    line.add("t_us", 100'000 * step).add("backward_us", rank == 2 ? 60'000 : 20'000);
    line.add("comm_us", rank == 2 ? 10'000 : 50'000);
  };
  for (int rank = 0; rank < 3; ++rank) {
    write_file_whole(RunFolder{run}.stream_file(rank), std::string_view(made.stream(rank)));
    std::string spans;
    for (int step = 0; step < 6; ++step) {
      const auto span = [&](const char* track, const char* name, int begin_us, int duration_us) {
        JsonLine line("span");
        line.add("step", step).add("track", track).add("name", name);
        spans += line.add("begin_us", step * 100'000 + begin_us).add("duration_us", duration_us).text();
      };
      span("loop", "backward", 0, rank == 2 ? 60'000 : 20'000);
      span("loop", "comm", rank == 2 ? 60'000 : 20'000, rank == 2 ? 10'000 : 50'000);
      span("bucket.0", "wait", rank == 2 ? 58'000 : 18'000, rank == 2 ? 2'000 : 42'000);
      span("bucket.0", "all-reduce", 60'000, 10'000);
    }
    write_file_whole(RunFolder{run}.spans_file(rank), std::string_view(spans));
  }
  Headless window(options_in(folder));
  window.settle();
  window.click("run 00");
  window.click("Timeline");
  window.settle();
  REQUIRE(window.has("rank 2"));
  CHECK(window.has("tracks"));
  const Box figures = window.box("figures");
  CHECK(figures.y0 >= window.box("tracks").y1);
  for (const char* const stage : {"backward", "comm"})
    CHECK(window.count_colour(figures, stage_colour(window.app().ui().theme(), stage)) > 60);
  CHECK(window.count_colour(window.box("rank 2"), window.app().ui().theme().warn) > 0);
  CHECK(window.count_colour(window.box("rank 1"), window.app().ui().theme().warn) == 0);
  const ImU32 comm = stage_colour(window.app().ui().theme(), "comm");
  const int of_others = window.count_colour(window.box("tracks"), comm);
  window.click("rank 2");
  window.frames(5);
  CHECK(window.state().timeline.rank == 2);
  CHECK(window.count_colour(window.box("tracks"), comm) < of_others / 2);  // it waits for nobody
  window.click("Later");
  window.frames(5);
  CHECK(window.state().timeline.made->drawn.front().step == 5);
  CHECK_FALSE(window.has("Later"));  // it was the last one that was traced
}

TEST_CASE("Only what is not done has a dot") {
  const TempFolder folder;
  write_run(folder, {.name = "whole"});
  write_run(folder, {.name = "halted", .status = "stopped"});
  Headless window(options_in(folder));
  window.settle();
  const Theme& theme = window.app().ui().theme();
  const auto dots = [&](const std::string& name, Colour colour) {
    return window.count_colour(window.box("run " + name), colour);
  };
  CHECK(dots("whole", theme.good) == 0);
  CHECK(dots("halted", theme.warn) > 20);
}
