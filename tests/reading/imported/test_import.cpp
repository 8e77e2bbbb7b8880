// From a log to a run folder, and what readers make of it.
#include <fmt/format.h>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "imported/find_logs.h"
#include "imported/foreign_run.h"
#include "log/run_reader.h"
#include "record/tfevents_writer.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/event_bytes.h"
#include "support/made_runs.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

const fs::path kLogs = "tests/reading/imported/logs";

/// EXPERIMENTS/short/4GPU/00 with out.log, as the tutorial leaves it.
fs::path tutorial_folder(const TempFolder& place) {
  const fs::path run = place / "exp/short/4GPU/00";
  fs::create_directories(run);
  fs::copy_file(kLogs / "tutorial_out.log", run / "out.log");
  return run;
}

void add_events(const fs::path& run, int epochs) {
  TfEventsWriter writer(run / "logs", "node");
  writer.scalar("Loss/train", 1.0625, 0);
  writer.scalar("Loss/valid", 1.0625, 0);
  writer.scalar("RMSE(u10m)/valid", 1.0, 0);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const int step = 32 * epoch;
    writer.scalar("Loss/train", 0.5 / epoch, step);
    writer.scalar("Learning Rate", 0.0004, step);
    writer.scalar("Avg iters per sec", 0.5, step);
    writer.scalar("Avg samples per sec", 8, step);
    writer.scalar("Loss/valid", 0.25 / epoch, step);
    writer.scalar("RMSE(u10m)/valid", 0.25, step);
  }
}

fs::path imported(const fs::path& place, const fs::path& runs, const ImportWish& wish = {}) {
  const auto logs = find_logs(place);
  REQUIRE(logs.size() == 1);
  const ForeignRun run = read_log(logs.front(), wish);
  const RunText text = run_text(run);
  const fs::path folder = runs / folder_name(run, text);
  REQUIRE(write_run(folder, text) == Imported::new_run);
  return folder;
}

}  // namespace

TEST_CASE("a log of the tutorial is a run that says its source") {
  const TempFolder place;
  tutorial_folder(place);
  const fs::path run = imported(place / "exp", place / "runs", {.device = "A100-40GB"});
  CHECK_THAT(run.filename().string(), says("imported-short-4GPU-00-"));
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  const RunView& view = reader.view();
  CHECK(view.state == RunState::done);
  CHECK(view.provenance == "recorded");
  CHECK(view.source == "tutorial");
  CHECK_FALSE(view.is_measured_here());
  CHECK(provenance_text(view) == "recorded with the Python tutorial on A100-40GB, 2026-01-05");
  CHECK(view.summary.steps == 64);
  CHECK(view.summary.samples == 1024);
  CHECK(view.summary.precision == "bf16");
  CHECK(view.summary.samples_per_s == Approx(10.0));  // of the second epoch: the first is warm-up
  CHECK(view.summary.step_us == Approx(1.6e6));
  REQUIRE(view.scores.size() == 2);
  CHECK(view.scores[0].step == 32);
  CHECK(view.scores[0].samples == 512);
  CHECK(view.scores[1].loss == 0.3750002);
  CHECK(view.scores[1].wall_s == Approx(130.0));
  const CurveRef loss = reader.series().find("train/loss");
  REQUIRE(loss);
  CHECK(loss.curve->y.size() == 2);
  CHECK(loss.places->samples[1] == 1008);  // trained on before step 63
}

TEST_CASE("event files and log of one run are put together") {
  const TempFolder place;
  const fs::path run = tutorial_folder(place);
  add_events(run, 2);
  const ForeignRun found = read_log(find_logs(place / "exp").front(), {});
  REQUIRE(found.steps.size() == 2);
  CHECK(found.gpus == 4);
  CHECK(found.batch == 16);
  CHECK(found.steps[1].step == 63);
  CHECK(found.steps[1].loss == 0.25);
  CHECK(*found.steps[1].step_s == Approx(1.6));  // of the log
  REQUIRE(found.scores.size() == 3);
  CHECK(found.first_loss == 1.0625);
  CHECK(found.scores[0].step == 0);
  CHECK(found.scores[1].others.front() == std::pair<std::string, double>("rmse_u10m", 0.25));
  CHECK_FALSE(found.scores[0].took_s.has_value());
  CHECK(found.scores[1].took_s == 7.5);
  CHECK(found.scores[2].took_s == 6.25);
}

TEST_CASE("event files alone are read, and a log of other epochs is told of") {
  const TempFolder place;
  const fs::path run = tutorial_folder(place);
  add_events(run, 50);
  const ForeignRun both = read_log(find_logs(place / "exp").front(), {});
  CHECK(both.steps.size() == 50);
  REQUIRE_FALSE(both.notes.empty());
  CHECK_THAT(both.notes.front(), says("the log has 2 epochs and the event files 50"));
  fs::remove(run / "out.log");
  const auto logs = find_logs(place / "exp");
  REQUIRE(logs.size() == 1);
  const ForeignRun alone = read_log(logs.front(), {});
  CHECK(alone.name == "short-4GPU-00");
  CHECK(alone.batch == 16);
  CHECK(alone.scores.size() == 51);
  CHECK(alone.steps_per_epoch == 32);
}

TEST_CASE("a log without its batch asks for it, and one that does not fit is refused") {
  const TempFolder place;
  const fs::path run = place / "mp/tp4/01";
  fs::create_directories(run);
  fs::copy_file(kLogs / "tutorial_mp_out.log", run / "out.log");
  const auto logs = find_logs(place / "mp");
  CHECK_THAT(error_of([&] { read_log(logs.front(), {}); }), says("--batch 16"));
  CHECK_THAT(error_of([&] { read_log(logs.front(), {.batch = 7}); }),
             says("a batch of 7 does not go into the 38400 samples of epoch 1"));
  const ForeignRun found = read_log(logs.front(), {.batch = 64});
  CHECK(found.steps.front().stands_for == 600);
  CHECK(found.failure == "CUDA out of memory");
  CHECK_THAT(run_text(found).stream, says("\"status\":\"failed\""));
}

TEST_CASE("importing again changes nothing, and nothing is written over") {
  const TempFolder place;
  const fs::path log = tutorial_folder(place);
  const fs::path run = imported(place / "exp", place / "runs");
  const ForeignRun found = read_log(find_logs(place / "exp").front(), {});
  CHECK(write_run(run, run_text(found)) == Imported::known);
  fs::remove(run / "run.toml");  // an import that was killed between its two files
  CHECK(write_run(run, run_text(found)) == Imported::new_run);
  write_file_whole(run / "run.toml", std::string_view("[run]\n"));
  CHECK(write_run(run, run_text(found)) == Imported::changed);
  CHECK(read_text_file(run / "run.toml", 100) == "[run]\n");
  std::string more = read_text_file(log / "out.log", 1 << 20);
  more +=
      "2026-01-05 10:03:20,000 - root - INFO - Time taken for epoch 3 is 51.2 sec, avg 10.0 samples/sec\n";
  write_file_whole(log / "out.log", std::string_view(more));
  CHECK(imported(place / "exp", place / "runs") != run);
  CHECK(read_text_file(run / "run.toml", 100) == "[run]\n");
}

TEST_CASE("a log that was moved is known, and its run still says where it lay") {
  const TempFolder place;
  tutorial_folder(place);
  const fs::path run = imported(place / "exp", place / "runs");
  const std::string config = read_text_file(run / "run.toml", 10'000);
  CHECK_THAT(config, says("imported_from = [\"" + (place / "exp/short/4GPU/00/out.log").string() + "\"]"));
  fs::rename(place / "exp", place / "moved");
  const ForeignRun found = read_log(find_logs(place / "moved").front(), {});
  const RunText text = run_text(found);
  CHECK(place / "runs" / folder_name(found, text) == run);
  CHECK(write_run(run, text) == Imported::known);
  CHECK(read_text_file(run / "run.toml", 10'000) == config);
  for (const std::string& more : {config + "x = 1\n", text.config}) {
    write_file_whole(run / "run.toml", std::string_view(more));
    CHECK(write_run(run, text) == Imported::changed);
  }
}

TEST_CASE("a run folder that is a link is refused, and nothing is written into what it leads to") {
  const TempFolder place;
  tutorial_folder(place);
  fs::create_directories(place / "elsewhere");
  fs::create_directories(place / "runs");
  const ForeignRun found = read_log(find_logs(place / "exp").front(), {});
  const RunText text = run_text(found);
  const fs::path run = place / "runs" / folder_name(found, text);
  for (const char* const target : {"elsewhere", "nowhere"}) {
    fs::create_directory_symlink(place / target, run);
    CHECK_THAT(error_of([&] { write_run(run, text); }), says("is a link") && says(run.filename().string()));
    fs::remove(run);
  }
  CHECK(fs::is_empty(place / "elsewhere"));
  CHECK_FALSE(fs::exists(place / "nowhere"));
}

TEST_CASE("an imported run stands beside one of ours, without a ratio or a share of stages") {
  const TempFolder place;
  add_events(tutorial_folder(place), 2);
  const fs::path theirs = imported(place / "exp", place / "runs");
  MadeRuns made;
  const fs::path ours = made.add("ours", {.samples = 40});
  const auto cases = read_cases({ours, theirs});
  const RunComparison found = compare_runs(cases[0], cases[1]);
  CHECK_THAT(found.no_ratio, says("one is measured here, the other recorded with the Python tutorial"));
  CHECK(found.losses.parity == Parity::unknown);  // they have no step of training in common
  CHECK(found.stages.empty());
  CHECK(found.losses.at_samples.has_value());
}

TEST_CASE("folders without logs, and logs of other kinds, are refused in words") {
  const TempFolder place;
  CHECK_THAT(error_of([&] { find_logs(place.path()); }), says("no log of a known kind"));
  CHECK_THAT(error_of([&] { find_logs(place / "none"); }), says("there is no such folder"));
  write_file_whole(place / "out.log", std::string_view("hello\n"));
  CHECK_THAT(error_of([&] { read_log(find_logs(place.path()).front(), {}); }),
             says("no epoch of the tutorial"));
}

TEST_CASE("names of folders cannot lead elsewhere or steer a terminal") {
  ForeignRun run{.source = "tutorial", .name = "../\x1b[2J/x y\n"};
  run.scores.push_back({.step = 1, .loss = 1.0});
  const std::string name = folder_name(run, run_text(run));
  CHECK(name.find('/') == std::string::npos);
  CHECK(name.rfind("imported-", 0) == 0);
  CHECK(name.find('\x1b') == std::string::npos);
}

TEST_CASE("batch, rate and scores come from the log where the event files have none") {
  const TempFolder place;
  const fs::path folder = place / "exp/base/1GPU/00";
  fs::create_directories(folder / "logs");
  std::string log, events;
  const auto line = [&](int second, const std::string& words) {
    log += fmt::format("2021-11-12 00:{:02}:{:02},000 - root - INFO - {}\n", second / 60, second % 60, words);
  };
  line(0, "global_batch_size 64");
  line(1, "Starting Training Loop...");
  for (int epoch = 1; epoch <= 3; ++epoch) {
    line(10 * epoch, fmt::format("Time taken for epoch {} is 8.0 sec, avg 80.0 samples/sec", epoch));
    line(10 * epoch + 1, fmt::format("  Avg val loss={}", 1.5 / epoch));
    events += tf_event(10U * static_cast<unsigned>(epoch), tf_value("Loss/train", tf_simple(1.0 / epoch)));
  }
  write_file_whole(folder / "out.log", std::string_view(log));
  write_file_whole(folder / "logs/events.out.tfevents.1636677146.node.1.0", std::string_view(events));
  const fs::path run = imported(place / "exp", place / "runs");
  const RunView view = glance(run);
  CHECK(view.summary.samples == 1920);
  CHECK(view.summary.samples_per_s == Approx(80));
  CHECK(view.summary.step_us == Approx(8e5));
  REQUIRE(view.summary.has_valid_loss);
  CHECK(view.summary.valid_loss == Approx(0.5));
  CHECK_FALSE(view.summary.has_scores);  // of a channel
  CHECK(view.scores.size() == 3);
  CHECK(view.left_out.empty());
}

TEST_CASE("a table without times and samples stands at no time and after no samples") {
  const TempFolder place;
  write_file_whole(place / "metrics.csv",
                   std::string_view("epoch,step,train_loss,val_loss\n0,4,1,\n0,9,,2\n"));
  RunReader reader(imported(place.path(), place / "runs"), /*keep_series=*/true);
  reader.read_all();
  const CurveRef loss = reader.series().find("train/loss");
  REQUIRE(loss);
  CHECK(loss.places->knows(XAxis::step));
  CHECK(loss.places->knows(XAxis::epoch));
  CHECK_FALSE(loss.places->knows(XAxis::time));
  CHECK_FALSE(loss.places->knows(XAxis::samples));
  CHECK(reader.view().scores.front().samples == std::nullopt);
  REQUIRE(reader.view().remarks.size() == 2);
  CHECK_THAT(reader.view().remarks[1], says("it has no times"));
}

TEST_CASE("how deep a log lies, and what lies above the folder, is told of") {
  const TempFolder place;
  fs::path deep = place / "exp/low";
  for (int i = 0; i < 31; ++i) deep /= "d";
  fs::create_directories(deep / "e/f");
  fs::copy_file(kLogs / "tutorial_out.log", deep / "e/f/out.log");
  fs::create_directories(place / "exp/other");
  fs::copy_file(kLogs / "tutorial_out.log", place / "exp/other/out.log");
  CHECK_THAT(error_of([&] { find_logs(place / "exp/low"); }),
             says("no log of a known kind was found; 1 folder left out: it lies more than 32 deep"));
  fs::create_directory_symlink("..", place / "exp/low/up");
  fs::copy_file(kLogs / "tutorial_out.log", place / "exp/low/out.log");
  LeftOut left_out;
  const auto logs = find_logs(place / "exp/low", &left_out);
  REQUIRE(logs.size() == 1);
  CHECK(logs[0].folder == place / "exp/low");
  CHECK(left_out.count("folder") == 2);
  CHECK_THAT(left_out.sentences()[0], says("a link leads to it"));
}

TEST_CASE("what an import leaves out stands in the run that it makes") {
  const TempFolder place;
  const fs::path run = tutorial_folder(place);
  add_events(run, 2);
  TfEventsWriter(run, "other").scalar("grad/norm", 3.0, 32);
  write_file_whole(run / "events.out.tfevents.1.packed.gz", std::string_view("\x1f\x8b\x08 and more bytes"));
  const RunView view = glance(imported(place / "exp", place / "runs"));
  CHECK(view.left_out.count("value") == 1);
  CHECK(view.left_out.count("event file") == 1);
  std::string all;
  for (const std::string& sentence : view.left_out.sentences()) all += sentence + "\n";
  fs::remove(run / "out.log");
  fs::remove_all(run / "logs");
  CHECK_THAT(error_of([&] { read_log(find_logs(place / "exp").front(), {}); }),
             says("no epoch of the tutorial; ") && says("compressed (gzip)"));
  CHECK_THAT(all, says("1 value left out: of tags that the tutorial does not write") && says("grad/norm") &&
                      says("it is compressed (gzip)"));
}
