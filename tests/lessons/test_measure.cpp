// Runs that only measure, the quartet and the sweep, with real lessons.
#include <set>

#include "lessons/lesson_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_measure {

namespace {

/// The launcher in `folder`, with settings that make runs short: one sample a step, one thread, which other
/// work on the machine disturbs least.
ProcessResult cli(std::vector<std::string> words, const std::filesystem::path& folder,
                  std::vector<std::string> sets = {}) {
  const std::string lesson = words[1];
  words.insert(words.end(), {"--preset", "cpu_micro"});
  sets.insert(sets.begin(), {"data.root=" + data().string(), "run.threads=1"});
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return run_launcher(lesson, words, {.folder = folder.string()});
}

/// The `run` lines of all runs below `folder`, in the order in which they began.
std::vector<Json> runs_in(const std::filesystem::path& folder) {
  std::vector<Json> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs"))
    out.push_back(stream(entry.path()).front());
  std::sort(out.begin(), out.end(), [](const Json& one, const Json& other) {
    const auto begun = [](const Json& run) {
      return std::pair(run["started"].as_text(), run["pid"].as_integer());
    };
    return begun(one) < begun(other);
  });
  return out;
}

}  // namespace

TEST_CASE("a run that measures whole steps neither validates nor talks of losses") {
  const TempFolder folder;
  const ProcessResult result =
      train(folder / "run", {"train.steps=6", "run.measure=full", "train.checkpoint_every=2"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("MEASURE full") && says("measures     full") &&
                             says("without the first 3 steps") && !says("loss") && !says("valid "));
  const std::vector<Json> lines = stream(folder / "run");
  CHECK(lines.front()["measure"] == "full");
  CHECK(of_kind(lines, "eval").empty());
  const std::vector<Json> steps = of_kind(lines, "step");
  REQUIRE(steps.size() == 6);
  CHECK(steps[0].contains("loss"));  // it trains as ever
  CHECK_FALSE(of_kind(lines, "summary")[0].contains("loss"));
  CHECK_FALSE(std::filesystem::exists(folder / "run/checkpoints"));
}

TEST_CASE("a run that measures reading makes steps of nothing but load") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=9", "run.measure=io"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("batches are read and dropped") && !says("loss") && !says("MFU"));
  const std::vector<Json> steps = of_kind(stream(folder / "run"), "step");
  REQUIRE(steps.size() == 9);
  for (const Json& step : steps) {
    CHECK(step["load_us"].as_number() > 0);
    CHECK(step["read_bytes"] == 4 * 2 * 20 * 48 * 96 * 4);
    for (const char* key : {"copy_us", "forward_us", "backward_us", "optimize_us", "loss", "lr"})
      CHECK_FALSE(step.contains(key));
  }
  CHECK(steps[8]["epoch"] == 1);  // 8 batches an epoch
}

TEST_CASE("a run that measures computing needs no data, and does not wait for it") {
  const TempFolder folder;
  const ProcessResult result =
      train(folder / "run", {"train.steps=8", "run.measure=synthetic", "data.root=/nowhere/at/all"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("one made-up batch again and again"));
  const std::vector<Json> steps = of_kind(stream(folder / "run"), "step");
  REQUIRE(steps.size() == 8);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    CHECK(steps[i]["read_bytes"] == 0);
    CHECK(steps[i]["stall_us"] == 0);
    CHECK(steps[i]["forward_us"].as_number() > 0);
  }
}

TEST_CASE("values that are no numbers end a run that trains, not one whose data is made up") {
  const TempFolder folder;
  const std::vector<std::string> broken = {"train.steps=6", "run.fault=nan_weight", "run.fault_step=2"};
  auto with = [&](const std::string& measure) {
    std::vector<std::string> sets = broken;
    sets.push_back("run.measure=" + measure);
    return train(folder / measure, sets);
  };
  CHECK(with("synthetic").code == 0);
  CHECK(of_kind(stream(folder / "synthetic"), "end")[0]["status"] == "done");
  CHECK(with("full").code == 1);
}

TEST_CASE("a run that measures and is asked to stop leaves no checkpoint, and says so by its code") {
  for (const std::string measure : {"full", "io"}) {
    const TempFolder folder;
    const ProcessResult result = train(folder / "run", {"train.steps=1000000", "run.measure=" + measure},
                                       {.interrupt_when = when_steps(folder / "run", 5)});
    CHECK(result.code == 130);
    CHECK_THAT(result.out, says("without a checkpoint"));
    CHECK_FALSE(std::filesystem::exists(folder / "run/checkpoints"));
    CHECK(of_kind(stream(folder / "run"), "end")[0]["status"] == "stopped");
  }
}

TEST_CASE("a quartet measures in turn, leaves a run of each trial, and gives a verdict with its numbers") {
  const TempFolder folder;
  const ProcessResult result =
      cli({"quartet", "01_baseline", "--steps", "4", "--trials", "2", "--json"}, folder.path());
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  CHECK(told["quartet"] == "01_baseline");
  CHECK(told["cases"].values().size() == 3);
  for (const Json& one : told["cases"].values()) {
    CHECK(one["trials"].values().size() == 2);
    CHECK(one["min"].as_number() <= one["samples_per_s"].as_number());
    CHECK(one["samples_per_s"].as_number() <= one["max"].as_number());
    CHECK(one["runs"].values().size() == 2);
    CHECK(one["means"]["step_us"].as_number() > 0);
  }
  CHECK(told["verdict"].as_text().size() > 3);
  CHECK_THAT(told["evidence"].text(), says("--trials 3"));  // two say nothing of how sure it is
  CHECK(told["next"].as_text().rfind("./isobar ", 0) == 0);
  const std::vector<Json> runs = runs_in(folder.path());
  REQUIRE(runs.size() == 6);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i]["group"] == told["group"]);
    CHECK(runs[i]["measure"] == std::vector<std::string>{"io", "synthetic", "full"}[i % 3]);
    CHECK(runs[i]["point"] == runs[i]["measure"]);
    CHECK(runs[i]["repeat"] == i / 3);
    CHECK(runs[i]["wanted_steps"] == 7);
  }
  CHECK_THAT(run_process({bin_folder(ISOBAR_BIN) + "/isobar-cli", "runs", "--all"},
                         {.folder = folder.path().string()})
                 .out,
             says("[measures synthetic]") && says("6 runs"));
}

TEST_CASE("a loop that reads at a slow disk and computes after it is told what it could overlap") {
  const TempFolder folder;
  // One sample takes 0.74 MB, 74 ms, which is more than its step.
  const ProcessResult result = cli({"quartet", "01_baseline", "--steps", "8", "--trials", "1"}, folder.path(),
                                   {"train.global_batch=1", "data.throttle_mb_per_s=10"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out,
             says("measured here") && says("SYNTHETIC") && says("samples/s") && says("next: ./isobar "));
  CHECK_THAT(result.out, says("verdict: "));
}

TEST_CASE("threads that read ahead from a slow disk get no more than it gives") {
  const TempFolder folder;
  const ProcessResult result =
      cli({"quartet", "02_workers", "--steps", "4", "--trials", "1", "--json"}, folder.path(),
          {"train.global_batch=1", "data.throttle_mb_per_s=20", "data.workers=1", "data.prefetch=1"});
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  INFO(told.indented());
  // Two batches lie ready when the four steps begin that are timed.
  CHECK(told["cases"][0]["samples_per_s"].as_number() < 20e6 / (2 * 20 * 48 * 96 * 4) * (4 + 2) / 4);
  CHECK(told["predicted_attention_share"].as_number() == Approx(0.0802).epsilon(0.05));
}

// Which verdict figures mean is in tests/reading/analyse/test_verdict.cpp; that a machine has them takes real
// time.
TEST_CASE("a slow disk bounds a quartet by data, and memory leaves computing as the bound", "[.][nightly]") {
  const auto verdict = [](const std::vector<std::string>& sets) {
    const TempFolder folder;
    const ProcessResult result =
        cli({"quartet", "02_workers", "--steps", "20", "--trials", "3", "--json"}, folder.path(), sets);
    REQUIRE(result.code == 0);
    return Json::parse(result.out)["verdict"].as_text();
  };
  CHECK(verdict({"train.global_batch=1", "data.throttle_mb_per_s=5", "data.workers=1", "data.prefetch=1"}) ==
        "data");
  CHECK(verdict({"data.workers=1"}) == "compute");
}

TEST_CASE("a sweep measures its grid in turn and marks the best") {
  const TempFolder folder;
  const std::vector<std::string> words = {"sweep",
                                          "01_baseline",
                                          "train.global_batch=1,8",
                                          "data.shuffle=true,false",
                                          "--steps",
                                          "3",
                                          "--repeats",
                                          "2"};
  std::vector<std::string> json_words = words;
  json_words.push_back("--json");
  const ProcessResult result = cli(json_words, folder.path());
  REQUIRE(result.code == 0);
  const Json told = Json::parse(result.out);
  REQUIRE(told["points"].values().size() == 4);
  CHECK(told["points"][1]["keys"] == Json{{"train.global_batch", "1"}, {"data.shuffle", "false"}});
  int best = 0;
  for (const Json& point : told["points"].values()) {
    const bool is_best = point["best"] == true;
    best += is_best ? 1 : 0;
    CHECK(point["runs"].values().size() == 2);
    CHECK(point.contains("stall_share"));
    if (is_best) {
      for (const Json& other : told["points"].values())
        CHECK(point["samples_per_s"].as_number() >= other["samples_per_s"].as_number());
    }
  }
  CHECK(best == 1);
  const std::vector<Json> runs = runs_in(folder.path());
  REQUIRE(runs.size() == 8);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i]["repeat"] == i / 4);  // A B C D A B C D
    CHECK(runs[i]["point"] == runs[i % 4]["point"]);
    CHECK(runs[i]["measure"] == "full");
  }
  CHECK(runs[2]["point"] == "train.global_batch=8 data.shuffle=true");
}

TEST_CASE("a sweep of whole runs shows their scores, and what fails beside what does not") {
  const TempFolder folder;
  const ProcessResult result =
      cli({"sweep", "01_baseline", "optim.lr=1e-3,1e-30", "--whole", "--repeats", "1"}, folder.path(),
          {"train.steps=10"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("whole runs") && says("valid loss") && says("u10m RMSE") && says("optim.lr"));
  const std::vector<Json> runs = runs_in(folder.path());
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["measure"] == "none");
  // Rates of nothing leave the model as it was: the other one is better, and marked at the end of its line.
  const std::size_t line = result.out.find("1e-3 ");
  REQUIRE(line != std::string::npos);
  CHECK(result.out[result.out.find('\n', line) - 1] == '*');
  // Runs that end within their warm-up have scores, and no rate.
  const ProcessResult brief = cli({"sweep", "01_baseline", "optim.lr=1e-3", "--whole", "--repeats", "1"},
                                  folder.path(), {"train.steps=3"});
  CHECK(brief.code == 0);
  CHECK_THAT(brief.out, says("valid loss") && !says("samples/s") && says("*\n"));
  const ProcessResult partly =
      cli({"sweep", "01_baseline", "data.limit_train=8,2", "--steps", "2", "--repeats", "1"}, folder.path());
  CHECK(partly.code == 2);  // a batch of 4 of 2 samples
  CHECK_THAT(partly.err, says("data.limit_train=2 failed") && says("train.global_batch"));
  CHECK_THAT(partly.out, says("samples/s") && says("100.0 %"));
}

}  // namespace isobar::test_measure
