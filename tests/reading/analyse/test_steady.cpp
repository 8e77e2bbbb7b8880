// Runs that only measure, as readers see them.

#include "analyse/steady.h"
#include "cli/run_lines.h"
#include "core/files.h"
#include "log/stream_folder.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_steady {

namespace {

/// 13 steps, of which the first three are slow: the warm-up of a run that measures.
std::string stream(const std::string& measure, int wanted_steps = 13) {
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "01_baseline")
                        .add("device", "cpu")
                        .add("measure", measure)
                        .add("group", "sweep-1")
                        .add("point", "data.workers=2")
                        .add("repeat", 1)
                        .add("wanted_steps", wanted_steps)
                        .text();
  out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 128).text();
  for (int i = 0; i < 13; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 1000 * (i + 1)).add("samples", 4);
    line.add("load_us", i < 3 ? 90'000 : i == 12 ? 5'000 : 1'000);
    line.add("step_us", i < 3 ? 100'000 : 2'000);
    if (i == 12) line.add("stall_us", 400);
    out += line.text();
  }
  return out + JsonLine("end").add("status", "done").add("reason", "").text();
}

}  // namespace

TEST_CASE("steady figures leave the warm-up out and are means") {
  const StreamFolder folder(stream("full"));
  const SteadyFigures figures = steady_figures(folder.path());
  CHECK(figures.steps == 10);
  CHECK(figures.samples_per_s == Approx(2000));  // 4 samples in 2 ms
  CHECK(figures.mean("load_us") == 1400);        // nine of 1 ms and one of 5 ms
  CHECK(figures.mean("step_us") == 2000);
  CHECK(figures.mean("stall_us") == 40);  // one step says it
  CHECK(figures.mean("copy_us") == std::nullopt);
}

TEST_CASE("the warm-up is the first epoch or 20 steps, and of a short run a quarter") {
  CHECK(warm_up_steps(8, 1000) == 8);
  CHECK(warm_up_steps(64, 1000) == 64);
  CHECK(warm_up_steps(65, 1000) == 20);
  CHECK(warm_up_steps(128, 60) == 15);
  CHECK(warm_up_steps(128, 20) == 5);
  CHECK(warm_up_steps(64, 64) == 16);
  CHECK(warm_up_steps(8, 4) == 3);
  CHECK(warm_up_steps(128, 1) == 3);
  CHECK(warm_up_steps(2, 1) == 2);
  CHECK(warm_up_steps(128, 0) == 20);  // nobody says how long it is
  const StreamFolder brief(stream("none", 13));
  CHECK(steady_figures(brief.path()).view.summary.warm_up_steps == 3);
  CHECK(steady_figures(brief.path()).steps == 10);
}

TEST_CASE("rates on shared processors are said to be low, and no others are") {
  RunSummary summary;
  summary.samples_per_s = 6.6;
  summary.step_us = 600'000;
  const auto lines = [&] {
    std::string out;
    for (const std::string& line : summary_lines(summary)) out += line + "\n";
    return out;
  };
  CHECK_THAT(lines(), !says("processors"));  // nothing is known
  summary.processor_wait = 0.03;
  CHECK_THAT(lines(), !says("processors"));
  summary.processor_wait = 0.69;
  CHECK_THAT(lines(), says("waited for a processor 69 % of the time") && says("rates are low"));
  const StreamFolder folder(stream("full") + summary_event(summary).text());
  CHECK(steady_figures(folder.path()).view.summary.processor_wait == Approx(0.69));
}

TEST_CASE("a summary repeats that 16 bits were emulated, and on whose processor") {
  RunSummary summary;
  summary.precision = "bf16";
  const auto lines = [&](const std::string& provenance) {
    std::string out;
    for (const std::string& line : summary_lines(summary, provenance)) out += line + "\n";
    return out;
  };
  CHECK_THAT(lines(""), !says("emulated"));
  summary.emulated = true;
  CHECK_THAT(lines(""), says("bf16 is emulated: this processor has no instructions"));
  CHECK_THAT(lines("recorded"), says("that processor"));
}

TEST_CASE("a run that trains has the warm-up of its epochs, one that measures has three steps") {
  const StreamFolder trains(stream("none", 1000));
  CHECK(steady_figures(trains.path()).view.summary.warm_up_steps == 20);
  CHECK(steady_figures(trains.path()).steps == 0);
  CHECK(steady_figures(trains.path()).view.summary.measure.empty());
  const TempFolder empty;
  CHECK_THAT(error_of([&] { steady_figures(empty.path()); }), says("holds no run"));
}

TEST_CASE("a run that measures is said to do so, without losses, and is no failure") {
  const StreamFolder folder(stream("io"));
  const RunView view = glance(folder.path());
  CHECK(view.state == RunState::done);
  CHECK(view.summary.measure == "io");
  CHECK(view.group == "sweep-1");
  CHECK(view.repeat == 1);
  CHECK(measure_text(view) == "measures io at data.workers=2");
  RunReader reader(folder.path());
  while (reader.update()) {
  }
  const std::string json = run_report(reader).json.text();
  CHECK_THAT(json, says(R"("measure":"io")") && says(R"("point":"data.workers=2")") && !says("loss"));
  std::string lines;
  for (const std::string& line : summary_lines(view.summary)) lines += line + "\n";
  CHECK_THAT(lines, says("measures     io: batches are read and dropped") && !says("loss"));
}

TEST_CASE("a step without its time, or without any stage, says nothing of them") {
  std::string text = JsonLine("run").add("schema", 1).add("wanted_steps", 8).text();
  text += JsonLine("note").add("text", "plan").add("steps_per_epoch", 1).add("warm_up_steps", 0).text();
  for (int i = 0; i < 8; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 1000 * (i + 1)).add("samples", 4);
    if (i % 2 == 0) line.add("step_us", 2000);
    if (i % 4 == 0) line.add("load_us", 1000).add("forward_us", 600);
    if (i == 0) line.add("copy_us", 100);
    text += line.text();
  }
  const StreamFolder folder(text);
  const SteadyFigures figures = steady_figures(folder.path());
  CHECK(figures.mean("step_us") == 2000);
  CHECK(figures.mean("load_us") == 1000);
  CHECK(figures.mean("copy_us") == 50);  // the other timed step did not copy
  CHECK(figures.view.summary.step_us == 2000);
  CHECK(figures.view.summary.samples_per_s == Approx(2000));
}

}  // namespace isobar::test_steady
