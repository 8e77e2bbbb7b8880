#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "cli/run_lines.h"
#include "core/files.h"
#include "core/machine.h"
#include "log/stream_folder.h"
#include "record/run_tree.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_run_reader {

namespace {

/// The stream of a run of 30 steps with epochs of 10, as a lesson writes it.
std::string stream(std::int64_t pid, const std::string& lesson = "01_baseline") {
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", lesson)
                        .add("preset", "cpu_tiny")
                        .add("host", host_name())
                        .add("device", "cpu")
                        .add("pid", pid)
                        .add("wanted_steps", 40)
                        .add("flops_per_sample", 1e9)
                        .text();
  out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 10).text();
  for (int i = 0; i < 30; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 1000 * (i + 1)).add("epoch", i / 10).add("samples", 4);
    line.add("load_us", i < 10 ? 900 : 100).add("forward_us", 300).add("step_us", i < 10 ? 2000 : 500);
    if (i % 10 == 0) line.add("loss", 1.0 - 0.01 * i);
    out += line.text();
  }
  out += JsonLine("eval")
             .add("step", 30)
             .add("loss", 0.5)
             .add("rmse_u10m", 0.25)
             .add("persistence_rmse_u10m", 0.4)
             .text();
  return out;
}

}  // namespace

TEST_CASE("a run is told as its stream tells it, the warm-up left out") {
  const StreamFolder folder(stream(1) + JsonLine("end").add("status", "done").text());
  const RunReader reader = folder.read();
  const RunView& view = reader.view();
  CHECK(view.state == RunState::done);
  CHECK(view.lesson == "01_baseline");
  CHECK(view.summary.steps == 30);
  CHECK(view.summary.wanted_steps == 40);
  CHECK(view.summary.samples == 120);
  CHECK(view.summary.first_loss == 1.0);
  CHECK(view.summary.last_loss == Approx(0.8));
  CHECK(view.summary.warm_up_steps == 10);
  CHECK(view.summary.step_us == Approx(500));
  CHECK(view.summary.samples_per_s == Approx(8000));
  REQUIRE(view.summary.stages_us.size() == 2);
  CHECK(view.summary.stages_us[0] == std::pair<std::string, double>{"load", 100.0});
  REQUIRE(view.scores.size() == 1);
  CHECK(view.scores[0].headline == "u10m");
  CHECK(view.summary.rmse == 0.25);
  CHECK_THAT(run_report(reader).json.text(), says("\"state\":\"done\"") && says("\"rmse_u10m\":0.25"));
}

TEST_CASE("scores of an ensemble have members, spread and CRPS; bad numbers of them are none") {
  const auto scored = [](JsonLine line) {
    return StreamFolder(stream(1) + line.text() + JsonLine("end").add("status", "done").text()).read();
  };
  const auto line = [] { return JsonLine("eval").add("step", 31).add("loss", 0.5).add("rmse_u10m", 0.25); };
  const RunReader ensemble =
      scored(line().add("members", 4).add("spread_u10m", 0.125).add("crps_u10m", 0.0625));
  REQUIRE(ensemble.view().scores.size() == 2);
  CHECK(ensemble.view().scores[0].members == 1);
  const RunScores& scores = ensemble.view().scores[1];
  CHECK(scores.members == 4);
  CHECK(scores.spread == 0.125);
  CHECK(scores.crps == 0.0625);
  CHECK_THAT(run_report(ensemble).json.text(),
             says("\"members\":4") && says("\"spread_u10m\":0.125") && says("\"crps_u10m\":0.0625"));
  const RunReader bad = scored(line().add("members", -3).add("spread_u10m", -1).add("crps_u10m", "nan"));
  CHECK(bad.view().scores[1].members == 1);
  CHECK(bad.view().scores[1].spread == 0);
  CHECK(bad.view().scores[1].crps == 0);
}

TEST_CASE("a run without an end is running while its process lives, and has died when it does not") {
  CHECK(StreamFolder(stream(getpid(), "test_log")).read().view().state == RunState::running);
  CHECK(StreamFolder(stream(getpid(), "01_baseline")).read().view().state ==
        RunState::died);  // the number is another's now
  CHECK(StreamFolder(stream(2'000'000'000)).read().view().state == RunState::died);
}

TEST_CASE("clocks of machines differ: what grows is alive, and a sign from the future is marked") {
  const TempFolder folder;
  std::string text = stream(7);
  const std::string mine = "\"host\":\"" + host_name() + "\"";
  text.replace(text.find(mine), mine.size(), "\"host\":\"elsewhere\"");
  const std::filesystem::path file = folder / "rank-0000.jsonl";
  const auto an_hour = std::chrono::hours(1);
  const auto write = [&](const std::string& what, std::chrono::seconds ahead) {
    write_file_whole(file, what);
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() + ahead);
  };
  write(text, an_hour);
  RunReader ahead(folder.path());
  while (ahead.update()) {
  }
  CHECK(ahead.view().state == RunState::running);
  CHECK(ahead.view().age_s == 0);
  CHECK(ahead.view().clock_ahead_s > 3500);
  write(text, -an_hour);
  RunReader behind(folder.path());
  while (behind.update()) {
  }
  CHECK(behind.view().state == RunState::died);  // at first sight there is nothing else to go by
  CHECK(behind.view().clock_ahead_s == 0);
  {
    std::ofstream(file, std::ios::app) << JsonLine("step").add("step", 30).add("t_us", 40'000).text();
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - an_hour);
  }
  CHECK(behind.update());
  CHECK(behind.view().state == RunState::running);  // it was seen to grow
  CHECK(behind.view().age_s < 60);
}

TEST_CASE("a resumed run is told at a glance by its newest attempt, however long its stream is") {
  const std::string stop = JsonLine("end").add("status", "stopped").add("reason", "SIGINT").text();
  const auto resumed = [](std::int64_t attempt) {
    return JsonLine("run")
        .add("schema", 1)
        .add("lesson", "test_log")
        .add("attempt", attempt)
        .add("from_step", 30)
        .add("from_samples", 120)
        .add("from_wall_us", 7'000'000)
        .add("host", host_name())
        .add("pid", static_cast<std::int64_t>(getpid()))
        .add("wanted_steps", 90'000)
        .text();
  };
  const auto steps = [](std::size_t bytes) {
    std::string out;
    for (int i = 30; out.size() < bytes; ++i)
      out += JsonLine("step").add("step", i).add("t_us", 1'000'000).add("samples", 4).text();
    return out;
  };
  // The newest attempt begins in the head, in the middle, at the borders of what is read, in the tail.
  for (const std::size_t before : std::vector<std::size_t>{0, 30'000, 70'000, 3'000'000}) {
    for (const std::size_t behind :
         std::vector<std::size_t>{100, 48'900, 49'000, 49'100, 49'152, 49'200, 200'000, 2'200'000}) {
      INFO(before << " bytes before, " << behind << " behind");
      const TempFolder folder;
      for (const char* name : {"run.toml", "attempt-0001.toml", "attempt-0002.toml"})
        write_file_whole(folder / name, "");
      write_file_whole(folder / "rank-0000.jsonl",
                       stream(1) + steps(before) + stop + resumed(1) + stop + resumed(2) + steps(behind));
      const RunView view = glance(folder.path());
      CHECK(view.state == RunState::running);
      CHECK(view.attempt == 2);
      CHECK(view.reason.empty());
      CHECK(view.summary.wall_s == Approx(8));
    }
  }
}

TEST_CASE("figures that cannot be are unreadable lines, not shares of a step") {
  for (const char* const figure : {R"("forward_us":-9223372036854775808)", R"("step_us":1e300)",
                                   R"("samples":-4)", R"("read_bytes":-1)", R"("step_us":"nan")"}) {
    INFO(figure);
    const StreamFolder folder(stream(1) + "{\"kind\":\"step\",\"step\":31," + figure + "}\n");
    const RunReader reader = folder.read();
    CHECK(reader.view().unread_lines == 1);
    for (const auto& [stage, time_us] : reader.view().summary.stages_us) CHECK(time_us >= 0);
  }
}

TEST_CASE("stopped and failed runs say why") {
  const std::string stop =
      JsonLine("end").add("status", "stopped").add("reason", "SIGINT after 30 steps").text();
  CHECK(StreamFolder(stream(1) + stop).read().view().reason == "SIGINT after 30 steps");
  CHECK(StreamFolder(stream(1) + stop).read().view().state == RunState::stopped);
  const std::string fail = JsonLine("end").add("status", "failed").add("reason", "disk\x1b[31m full").text();
  CHECK(StreamFolder(stream(1) + fail).read().view().state == RunState::failed);
  CHECK(StreamFolder(stream(1) + fail).read().view().reason ==
        "disk?[31m full");  // escapes cannot steer a terminal
}

TEST_CASE("strange lines are counted, unknown kinds and keys ignored, numbers that are none kept as such") {
  const StreamFolder folder(
      stream(1) + "not json\n[1,2]\n5\n" + JsonLine("novelty").add("x", 1).text() +
      "{\"kind\":\"step\",\"step\":30,\"loss\":\"nan\",\"samples\":\"many\",\"new_key\":[1,{}]}\n" +
      "{\"kind\":5}\n{\"kind\":\"step\",\"step\":1e308}\n");
  const RunReader reader = folder.read();
  CHECK(reader.view().unread_lines == 4);  // no step has such a number
  CHECK(std::isnan(reader.view().summary.last_loss));
}

TEST_CASE("an unknown schema and a folder without a run are refused in a sentence") {
  const StreamFolder future(JsonLine("run").add("schema", 9).text());
  CHECK_THAT(error_of([&] { future.read(); }), says("schema 9") && says("another version"));
  const TempFolder empty;
  CHECK_THAT(error_of([&] { RunReader reader(empty.path()); }), says("holds no run"));
}

TEST_CASE("runs are found by path, by name, as the last, and nearly") {
  const TempFolder folder;
  for (const char* name : {"01_baseline-20261101-000000-aaaa", "01_baseline-20261102-000000-bbbb"}) {
    std::filesystem::create_directories(folder / name);
    write_file_whole(folder.path() / name / "run.toml", "");
  }
  std::filesystem::create_directories(folder / "no-run");
  CHECK(list_runs(folder.path()).size() == 2);
  CHECK(find_run("last", folder.path()).filename() == "01_baseline-20261102-000000-bbbb");
  CHECK(find_run("01_baseline-20261101-000000-aaaa", folder.path()) ==
        folder / "01_baseline-20261101-000000-aaaa");
  CHECK(find_run(folder / "no-run", folder.path()) == folder / "no-run");
  CHECK_THAT(error_of([&] { find_run("01_baseline-20261101-000000-aaab", folder.path()); }),
             says("mean 01_baseline-20261101"));
  CHECK_THAT(error_of([&] { find_run("last", folder / "nowhere"); }), says("./isobar run 01"));
}

TEST_CASE("a run further down has the path below runs/ as its name, and its last part where that is enough") {
  const TempFolder folder;
  for (const char* name : {"exp/one", "exp/two", "other/two"}) {
    std::filesystem::create_directories(folder / name);
    write_file_whole(folder.path() / name / "run.toml", "");
  }
  CHECK(list_runs(folder.path()).size() == 3);
  CHECK(find_run("exp/two", folder.path()) == folder / "exp/two");
  CHECK(find_run("one", folder.path()) == folder / "exp/one");
  CHECK_THAT(error_of([&] { find_run("two", folder.path()); }),
             says("2 runs end in") && says("exp/two, other/two"));
  CHECK_THAT(error_of([&] { find_run("exp/twi", folder.path()); }), says("mean exp/two?"));
  CHECK(find_run("last", folder.path()) == list_runs(folder.path()).back().path);
}

}  // namespace isobar::test_run_reader
