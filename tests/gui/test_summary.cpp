// What the window shows, in words.
#include "core/clock.h"
#include "gui/headless.h"
#include "state/summary.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

/// A run in the middle of its way.
RunEntry made_run() {
  RunEntry run;
  run.id = "/runs/one";
  run.name = "02_workers-20261120-100000-aaaa";
  run.view.lesson = "02_workers";
  run.view.state = RunState::running;
  run.view.summary.steps = 812;
  run.view.summary.wanted_steps = 1000;
  run.view.summary.step_us = 50'000;
  run.view.summary.has_losses = true;
  run.view.summary.last_loss = 0.21314;
  run.view.summary.samples_per_s = 4021;
  return run;
}

PageWords words_of(const RunEntry& run) {
  const Project project;
  Data data{project, {}};
  auto runs = std::make_shared<StoreSnapshot>();
  runs->runs.push_back(std::make_shared<RunEntry>(run));
  data.feed.runs = runs;
  AppState state;
  state.lesson = "02_workers";
  state.run = run.id;
  return page_words(state, data);
}

PageWords words_of(RunState how, const std::string& reason = "") {
  RunEntry run = made_run();
  run.view.state = how;
  run.view.reason = reason;
  return words_of(run);
}

}  // namespace

TEST_CASE("Title and summary of a run say how it stands") {
  const PageWords live = words_of(made_run());
  CHECK(live.title == "812/1000 02_workers - Isobar");
  CHECK(live.summary() ==
        "Watch view, 02_workers  11-20 10:00:00: running. "
        "812 of 1,000 steps, 9.4 s left, loss 0.2131, 4021 samples/s.");
  CHECK(words_of(RunState::done).title == "done: 02_workers - Isobar");
  const PageWords failed = words_of(RunState::failed, "the loss is nan");
  CHECK(failed.title == "failed: 02_workers - Isobar");
  CHECK(failed.shows == "Watch view, 02_workers  11-20 10:00:00: failed: the loss is nan.");
  CHECK(words_of(RunState::died).title == "died: 02_workers - Isobar");
  CHECK(words_of(RunState::died).shows.ends_with(": died at step 812."));
  CHECK(words_of(RunState::empty).title == "02_workers - Isobar");
}

TEST_CASE("Of a run that was not made here the title says so, and never more than is known") {
  RunEntry run = made_run();
  run.view.state = RunState::done;
  run.view.provenance = "recorded";
  CHECK(words_of(run).title == "recorded: 02_workers - Isobar");
  run = made_run();
  run.view.summary = {};
  run.view.summary.steps = 7;
  CHECK(words_of(run).title == "7 02_workers - Isobar");
  run.gone = true;
  CHECK(words_of(run).title == "02_workers - Isobar");
  CHECK(words_of(run).figures.empty());
  run = made_run();
  run.view.lesson = "<b>\x1b[31m\xff" + std::string(10'000, 'x');
  const PageWords hostile = words_of(run);
  CHECK(hostile.title.size() < 300);
  CHECK(hostile.summary().size() < 600);
  CHECK(hostile.title.find('\x1b') == std::string::npos);
  CHECK(hostile.summary().find('\xff') == std::string::npos);
}

TEST_CASE("Without a run the lesson is the title, and the view is said as its tab has it") {
  const Project project;
  Data data{project, {}};
  AppState state;
  CHECK(page_words(state, data).title == "Isobar");
  state.lesson = "02_workers";
  state.view = View::compare;
  state.compared = {"a", "b"};
  CHECK(page_words(state, data).title == "02_workers - Isobar");
  CHECK(page_words(state, data).summary() == "Compare view of 2 runs, no run is chosen.");
  data.starting = true;
  data.started.lesson = "03_prefetch";
  CHECK(page_words(state, data).title == "starting: 03_prefetch - Isobar");
  CHECK(page_words(state, data).summary() == "Compare view of 2 runs, starting 03_prefetch.");
}

TEST_CASE("The window's own state gives the words of the run that it shows") {
  const TempFolder folder;
  write_run(folder, {.name = "one", .steps = 40, .step_us = 1000, .lesson = "02_workers"});
  Headless window(options_in(folder));
  window.settle();
  window.click("Maps");
  const PageWords words = window.app().page_words();
  CHECK(words.title == "done: 02_workers - Isobar");
  CHECK(words.summary() == "Maps view, 02_workers  one: done, 40 of 40 steps. Loss 0.2, 4000 samples/s.");
}

TEST_CASE("A page is told at most every 5 s, and figures alone once a minute") {
  SetClock clock;
  PageWordsPace pace;
  RunEntry run = made_run();
  CHECK(pace.take(words_of(run), steady_us()));
  CHECK(pace.told().title == "812/1000 02_workers - Isobar");
  run.view.summary.steps = 813;
  clock.advance_us(4'999'999);
  CHECK_FALSE(pace.is_due(steady_us()));
  CHECK_FALSE(pace.take(words_of(run), steady_us()));
  clock.advance_us(1);
  const std::string before = pace.told().summary();
  CHECK(pace.take(words_of(run), steady_us()));
  CHECK(pace.told().title == "813/1000 02_workers - Isobar");
  CHECK(pace.told().summary() == before);

  clock.advance_us(54'999'999);
  run.view.summary.steps = 900;
  CHECK(pace.take(words_of(run), steady_us()));
  CHECK(pace.told().summary() == before);
  clock.advance_us(5'000'000);
  CHECK(pace.take(words_of(run), steady_us()));
  CHECK(pace.told().figures.starts_with("900 of 1,000 steps"));

  run.view.state = RunState::done;  // what a run comes to is said at once
  clock.advance_us(5'000'000);
  CHECK(pace.take(words_of(run), steady_us()));
  CHECK(pace.told().shows.ends_with(": done, 900 of 1,000 steps."));
  clock.advance_us(600'000'000);
  CHECK_FALSE(pace.take(words_of(run), steady_us()));  // nothing new
}
