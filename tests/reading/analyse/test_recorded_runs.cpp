// Runs that were not measured here: thinned for their lesson, found beside it, and marked in what readers
// say.

#include "analyse/recorded_runs.h"
#include "cli/run_lines.h"
#include "core/files.h"
#include "log/run_reader.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_recorded_runs {

namespace fs = std::filesystem;

namespace {

struct Made {
  int steps = 400;
  std::string status = "done";
  std::string fault = "none";
  std::string provenance = "";
  std::string started = "2026-11-21T10:00:00Z";
  std::string point = "";
  std::string preset = "short";
  double samples_per_s = 210.5;
  std::size_t note_bytes = 0;  ///< of each of twenty notes
};

std::string stream_of(const Made& made) {
  JsonLine head("run");
  head.add("schema", 1).add("lesson", "08_cuda_graphs").add("preset", made.preset).add("device", "cuda:0");
  head.add("host", "node17").add("pid", 4711).add("fault", made.fault).add("started", made.started);
  head.add("point", made.point).add("wanted_steps", made.steps).add("flops_per_sample", 1.4e12);
  if (!made.provenance.empty()) head.add("provenance", made.provenance);
  std::string out = head.text();
  out += JsonLine("note").add("text", "plan").add("steps_per_epoch", 32).text();
  for (int i = 0; i < 20 && made.note_bytes > 0; ++i)
    out += JsonLine("note").add("text", std::string(made.note_bytes, 'x')).text();
  for (int i = 0; i < made.steps; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 76'000 * (i + 1)).add("epoch", i / 32).add("samples", 16);
    line.add("load_us", 10).add("replay_us", 75'000).add("step_us", 76'000).add("lr", 1e-4);
    if (i % 10 == 0) line.add("loss", 1.0 - 0.001 * i);
    if (i == 123) line.add("launches", 1016).add("moved_bytes", 29'000'000'000);
    out += line.text();
  }
  out += JsonLine("eval").add("step", made.steps).add("loss", 0.5).add("rmse_u10m", 0.25).text();
  out += JsonLine("summary")
             .add("steps", made.steps)
             .add("samples", 16 * made.steps)
             .add("loss", 0.6)
             .add("first_loss", 1.0)
             .add("samples_per_s", made.samples_per_s)
             .add("step_us", 76'000)
             .add("rmse_u10m", 0.25)
             .text();
  if (!made.status.empty()) out += JsonLine("end").add("status", made.status).add("reason", "").text();
  return out;
}

constexpr std::string_view kConfig =
    "[data]\nroot = \"/scratch/anna/era5\"\ngrid = [360, 720]\n[train]\ninit = \"/home/anna/w.safetensors\"\n"
    "steps = 400\n\n[environment]  # where\nhost = \"node17\"\ndevice_is = \"NVIDIA H200, 150.1 GB, driver "
    "580.65.06\"\nlibtorch = \"2.11.0\"\ncommit = \"abc\"\ncommand = \"/home/anna/isobar/build/bin/08 "
    "--run-dir x\"\n";

void write_run(const fs::path& folder, const Made& made) {
  fs::create_directories(folder);
  write_file_whole(folder / "run.toml", kConfig);
  write_file_whole(folder / "rank-0000.jsonl", std::string_view(stream_of(made)));
}

ThinRun thinned(const Made& made, std::uint64_t most_bytes = 100'000) {
  const TempFolder folder;
  write_run(folder / "run", made);
  return thin_run(folder / "run", most_bytes);
}

RunReader read(const fs::path& folder) {
  RunReader reader(folder, /*keep_series=*/true);
  while (reader.update()) {
  }
  return reader;
}

}  // namespace

TEST_CASE("a thinned run is small, says the same of itself, and is marked") {
  const TempFolder folder;
  const Made made{.steps = 4000};
  write_run(folder / "run", made);
  const ThinRun thin = thin_run(folder / "run", 20'000);
  CHECK(thin.stream.size() <= 20'000);
  CHECK(thin.stream.size() > 10'000);  // not more is thrown away than needed
  CHECK(thin.device == "NVIDIA H200");
  CHECK(thin.day == "2026-11-21");
  CHECK(thin.all_steps == 4000);
  CHECK(thin.steps < 200);
  fs::create_directories(folder / "thin");
  write_file_whole(folder / "thin/run.toml", std::string_view(thin.config));
  write_file_whole(folder / "thin/rank-0000.jsonl", std::string_view(thin.stream));
  RunReader whole = read(folder / "run");
  RunReader part = read(folder / "thin");
  const RunView& view = part.view();
  CHECK(view.provenance == "recorded");
  CHECK(provenance_text(view) == "recorded on NVIDIA H200, 2026-11-21");
  CHECK(provenance_text(whole.view()).empty());
  CHECK(view.state == RunState::done);
  CHECK(view.pid == 0);
  CHECK(view.host.empty());
  CHECK(view.summary.samples_per_s == whole.view().summary.samples_per_s);
  CHECK(view.summary.steps == 4000);
  CHECK(view.summary.samples == 64'000);
  CHECK(view.summary.last_loss == whole.view().summary.last_loss);
  CHECK(view.scores.size() == 1);
  CHECK_THAT(run_report(part).json.text(), says(R"("provenance":"recorded on NVIDIA H200, 2026-11-21")"));
  CHECK_THAT(run_report(whole).json.text(), says(R"("provenance":"measured here")"));
  const CurveRef launches = part.series().find("train/launches");
  REQUIRE(launches);
  CHECK(launches.curve->y.back() == 1016);
  // Samples count those of the steps that were left out.
  CHECK(part.series().steps().places.samples.back() == whole.series().steps().places.samples.back());
  const CurveRef loss = part.series().find("train/loss");
  REQUIRE(loss);
  CHECK(loss.curve->y.size() > 60);
}

TEST_CASE("a short run loses no step, and nothing of its machine is left but what matters") {
  const ThinRun thin = thinned({.steps = 100});
  CHECK(thin.steps == 100);
  CHECK(thin.stream.find("node17") == std::string::npos);
  CHECK(thin.stream.find("4711") == std::string::npos);
  for (const char* const gone : {"node17", "anna", "/home", "scratch"}) {
    INFO(gone);
    CHECK(thin.config.find(gone) == std::string::npos);
  }
  CHECK_THAT(thin.config, says("root = \"era5\"") && says("init = \"w.safetensors\"") &&
                              says("libtorch = \"2.11.0\"") && says("driver 580.65.06") &&
                              says("steps = 400"));
}

TEST_CASE("what is no good record is refused in words") {
  const auto refused = [](const Made& made, std::uint64_t most = 100'000) {
    return error_of([&] { thinned(made, most); });
  };
  CHECK_THAT(refused({.status = "failed"}), says("this one is failed"));
  CHECK_THAT(refused({.status = "stopped"}), says("this one is stopped"));
  CHECK_THAT(refused({.fault = "slow_disk"}), says("fault on purpose: slow_disk"));
  CHECK_THAT(refused({.provenance = "predicted"}), says("is predicted itself"));
  CHECK_THAT(refused({.provenance = "recorded"}), says("is recorded itself"));
  CHECK_THAT(refused({.started = ""}), says("no time of its start"));
  CHECK_THAT(refused({.note_bytes = 10'000}), says("beside its steps is too much") && says("at most 100 kB"));
  const TempFolder folder;
  CHECK_THAT(error_of([&] { thin_run(folder.path(), 1000); }), says("holds no run"));
}

TEST_CASE("runs beside a lesson: recorded before predicted, the newest first, its own settings first") {
  const TempFolder home;
  const fs::path place = home / "lessons/08_cuda_graphs/recorded";
  CHECK(recorded_runs(home.path(), "08_cuda_graphs").empty());
  write_run(place / "predicted-h200/a-eager", {.provenance = "predicted", .point = "graph.enabled=false"});
  write_run(place / "predicted-h200/b-graph", {.provenance = "predicted"});
  CHECK(recorded_runs(home.path(), "08_cuda_graphs").front().folder.filename() == "b-graph");
  write_run(place / "a100", {.provenance = "recorded", .started = "2025-01-01T00:00:00Z"});
  write_run(place / "h200", {.provenance = "recorded"});
  write_run(place / "measured", {});  // says nothing of where it is from
  fs::create_directories(place / "empty");
  write_file_whole(place / "curve.svg", std::string_view("<svg/>"));
  fs::create_directories(place / "other");
  write_file_whole(place / "other/run.toml", std::string_view(""));
  write_file_whole(place / "other/rank-0000.jsonl", std::string_view("{\"kind\":\"run\",\"schema\":99}\n"));
  std::vector<std::string> names;
  for (const RecordedRun& run : recorded_runs(home.path(), "08_cuda_graphs"))
    names.push_back(run.folder.filename().string());
  CHECK(names == std::vector<std::string>{"h200", "a100", "b-graph", "a-eager"});
  CHECK(provenance_text(recorded_runs(home.path(), "08_cuda_graphs").back().view) ==
        "predicted by model for cuda:0");
}

TEST_CASE("beside a lesson the pair of runs opens that differs, and says in what") {
  const TempFolder home;
  const fs::path place = home / "lessons/08_cuda_graphs/recorded/predicted-h200";
  const auto write = [&](const std::string& name, const std::string& preset, const std::string& point,
                         double rate) {
    write_run(place / name,
              {.provenance = "predicted", .point = point, .preset = preset, .samples_per_s = rate});
  };
  const auto runs = [&] { return recorded_runs(home.path(), "08_cuda_graphs"); };
  CHECK(telling_other({}) == nullptr);
  write("a", "short", "", 210);
  write("a-launched", "short", "graph.enabled=false", 210);
  write("a-one", "short", "train.global_batch=1", 209);  // less than matters
  CHECK(telling_other(runs()) == nullptr);
  write("b", "cpu_tiny", "", 5000);
  write("b-launched", "cpu_tiny", "graph.enabled=false", 2500);
  write("b-both", "cpu_tiny", "graph.enabled=false train.global_batch=1",
        10);  // two settings tell of neither
  std::vector<RecordedRun> found = runs();
  CHECK(found.front().folder.filename() == "b");
  CHECK(found.size() == 6);
  const RecordedRun* other = telling_other(found);
  REQUIRE(other != nullptr);
  CHECK(other->folder.filename() == "b-launched");
  CHECK(
      pair_sentence(found.front(), *other) ==
      "with graph.enabled=false alone 2500.0 samples/s in place of 5000.0, 0.50 times as fast (predicted by "
      "model for "
      "cuda:0)");
  // What was measured goes first, and one run of each makes no factor.
  const fs::path there = place.parent_path();
  write_run(there / "own", {.provenance = "recorded", .samples_per_s = 100});
  write_run(there / "launched",
            {.provenance = "recorded", .point = "graph.enabled=false", .samples_per_s = 80});
  found = runs();
  CHECK(found.front().folder.filename() == "own");
  other = telling_other(found);
  REQUIRE(other != nullptr);
  CHECK_THAT(pair_sentence(found.front(), *other), says("80.0 samples/s in place of 100.0 (recorded on"));
  // Beyond what repeats were ever recorded to differ by it is one.
  fs::remove_all(there / "launched");
  write_run(there / "launched",
            {.provenance = "recorded", .point = "graph.enabled=false", .samples_per_s = 20});
  found = runs();
  other = telling_other(found);
  REQUIRE(other != nullptr);
  CHECK_THAT(pair_sentence(found.front(), *other), says("0.20 times as fast from one run each (recorded on"));
}

}  // namespace isobar::test_recorded_runs
