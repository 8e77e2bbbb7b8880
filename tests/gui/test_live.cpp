// Runs that are written while they are watched, by a clock that stands still until the test moves it.
#include <fstream>
#include <thread>

#include "gui/headless.h"
#include "log/replay.h"
#include "support/catch.h"
#include "support/set_clock.h"
#include "support/until.h"

namespace isobar::test_live {

namespace fs = std::filesystem;

namespace {

void append(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

constexpr std::int64_t kPause_us = 200'000;   // between two looks
constexpr std::int64_t kScan_us = 1'200'001;  // between two looks at what runs there are, and a pause

/// Moves the clock, and returns when the feed has looked, and when what else waits on the clock does so
/// again.
void feed_looks(SetClock& clock, std::int64_t after_us, std::size_t threads = 1) {
  clock.until_waiting(threads);
  clock.advance_us(after_us);
  clock.until_waiting(threads);
}

}  // namespace

TEST_CASE("What is written appears without being asked for; a run that died and a deleted folder are said") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "live", .steps = 20, .status = ""});
  // Another machine's run that was written just now counts as alive.
  SetClock clock;
  Headless window(options_in(folder));
  window.settle();
  const auto entry = [&] { return window.app().feed_state().runs->find(run.string()); };
  CHECK(entry()->view.state == RunState::running);
  append(run / "rank-0000.jsonl", step_line(20, 0.5, 1000) + R"({"kind":"st)");
  feed_looks(clock, kPause_us);
  CHECK(entry()->view.summary.steps == 21);
  CHECK(entry()->view.unread_lines == 0);
  // One that nobody saw grow is as old as its file says.
  const fs::path silent = write_run(folder, {.name = "silent", .steps = 20, .status = ""});
  fs::last_write_time(silent / "rank-0000.jsonl", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto other = [&] { return window.app().feed_state().runs->find(silent.string()); };
  feed_looks(clock, kScan_us);
  REQUIRE(other());
  CHECK(other()->view.state == RunState::died);
  CHECK(run_line(*other()).find("last sign 1 h 00 min ago") != std::string::npos);
  CHECK(entry()->view.state == RunState::running);
  fs::remove_all(run);
  feed_looks(clock, kScan_us);
  CHECK(entry()->gone);
  CHECK(entry()->detail->series.step_rows() == 21);
  write_run(folder, {.name = "live", .steps = 5});
  feed_looks(clock, kScan_us);
  CHECK_FALSE(entry()->gone);
  CHECK(entry()->view.state == RunState::done);
  REQUIRE(entry()->detail);
  CHECK(entry()->detail->series.step_rows() == 5);
}

TEST_CASE("A replay is watched as a live run, and drawn as far as it is") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one", .steps = 40, .step_us = 1'000'000});
  SetClock clock;
  const PrivateRunFolder own(run);
  Replay replay(run, own.path(), {.speed = 2});
  AppOptions options = options_in(folder);
  options.places.push_back(replay.folder());
  Headless window(options);
  window.state().run = replay.folder().string();
  window.settle();
  const auto entry = [&] { return window.app().feed_state().runs->find(window.state().run); };
  ReplayThread playing(replay);
  feed_looks(clock, 10'000'000, 2);  // of 20 s
  feed_looks(clock, kPause_us, 2);   // which may have been before the lines came
  CHECK(entry()->view.state == RunState::running);
  CHECK(entry()->detail->series.step_rows() == 20);
  window.frames(20);
  CHECK(window.count_colour(window.box("loss"), window.app().ui().theme().series[0]) > 20);
  clock.until_waiting(2);
  clock.advance_us(10'000'000);
  until([&] { return playing.is_over(); });
  feed_looks(clock, kPause_us);
  CHECK(entry()->view.state == RunState::done);
  CHECK(entry()->detail->series.step_rows() == 40);
  CHECK(marks_of(entry()->view).front() == "replay of one at 2x");
}

TEST_CASE("When nothing happens no frame is called for") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one"});
  for (int i = 0; i < 20; ++i)
    write_run(folder, {.name = "other" + std::to_string(i), .status = i % 2 == 0 ? "failed" : "done"});
  fs::remove(run / "console.log");
  SetClock clock;
  Headless window(options_in(folder));
  window.settle();
  window.state().run = run.string();
  window.settle();
  feed_looks(clock, kPause_us);
  const int before = window.changes();
  for (int i = 0; i < 40; ++i) feed_looks(clock, kPause_us);  // 8 s: all that it looks at now and then, too
  CHECK(window.changes() == before);
  window.frames(2);
  CHECK_FALSE(window.app().is_moving());
}

}  // namespace isobar::test_live
