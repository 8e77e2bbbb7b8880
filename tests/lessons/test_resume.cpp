// A run that was stopped or killed goes on as if nothing had been.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "core/files.h"
#include "core/json.h"
#include "fields/checkpoint_folder.h"
#include "lessons/paused_run.h"
#include "lessons/resumed_run.h"
#include "record/tfevents_reader.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/until.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

/// What the TensorBoard log says by tag and step, but for how fast it was.
std::map<std::pair<std::string, std::int64_t>, float> board(const fs::path& run) {
  std::map<std::pair<std::string, std::int64_t>, float> out;
  for (const auto& file : fs::directory_iterator(run / "tb")) {
    for (const TfScalar& scalar : TfEventsReader(file.path()).read_new().scalars) {
      const bool planted = scalar.tag.rfind("Fault/", 0) == 0;
      if (!planted && scalar.tag.rfind("Avg ", 0) != 0)
        out[{scalar.tag, scalar.step}] = static_cast<float>(scalar.value);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a run may be stopped again and again") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const auto sets = with(kTwenty, {"run.fault=slow_stage", "run.fault_ms=10"});
  const auto paused = [&](int signal) { return paused_in_step("6", folder / "paused", signal); };
  ProcessResult result = train(run, sets, paused(SIGTERM));
  int attempts = 1;
  for (; result.code == 75 && attempts < 20; ++attempts) result = resume(run, {}, paused(SIGUSR1));
  CHECK(result.code == 0);
  CHECK(attempts == 4);
  check_equal(run, uninterrupted());
  CHECK(board(run) == board(uninterrupted()));
  CHECK(fs::exists(run / "attempt-0001.toml"));
  const ProcessResult again = resume(run);  // nothing is left to do
  CHECK(again.code == 0);
  CHECK(weights(run) == weights(uninterrupted()));
}

TEST_CASE("after damage to the newest checkpoint the one before it is taken, and it is said") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=5", "train.keep_checkpoints=3"})).code == 0);
  CHECK(list_checkpoints(run / "checkpoints").size() == 3);
  const std::string state = read_text_file(run / "checkpoints/step-000020/state.toml", 10'000);
  write_file_whole(run / "checkpoints/step-000020/state.toml", "# " + state);
  fs::remove(run / "checkpoints/step-000015/model.safetensors");
  const fs::path half = run / "fields/step-000012.npy.part-4711";  // of a process that was killed
  write_file_whole(half, std::string_view("half"));
  const ProcessResult result = resume(run);
  CHECK_FALSE(fs::exists(half));
  CHECK(result.code == 0);
  CHECK_THAT(result.out, says("passed over") && says("step-000020") && says("state.toml") &&
                             says("step-000015") && says("after step 10"));
  check_equal(run, uninterrupted());
  CHECK(verify_checkpoint(run / "checkpoints/step-000020").step == 20);
}

TEST_CASE("what cannot be resumed is refused in words, and the run stays as it is") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=10"})).code == 0);
  const std::string before = read_text_file(run / "rank-0000.jsonl", 1 << 24);
  const auto refused = [&](const std::vector<std::string>& sets) {
    const ProcessResult result = resume(run, sets);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(refused({"train.global_batch=8"}), says("train.global_batch is 4") && says("cannot become 8"));
  CHECK_THAT(refused({"train.steps=40"}), says("train.steps is 20"));
  CHECK_THAT(refused({"model.depth=2"}), says("model.depth"));
  CHECK_THAT(refused({"data.seed=1"}), says("data.seed"));
  CHECK_THAT(resume(folder / "nowhere").err, says("no run.toml") && says("nowhere"));
  REQUIRE(train(folder / "none", {"train.steps=2"}).code == 0);
  CHECK_THAT(resume(folder / "none").err, says("no complete checkpoint") && says("train.checkpoint_every"));
  CHECK_THAT(
      run_lesson({std::string(ISOBAR_BIN) + "/01_baseline", "--preset", "cpu_tiny", "--resume", run.string()})
          .err,
      says("keeps its sizes"));
  CHECK_THAT(run_lesson({std::string(ISOBAR_BIN) + "/01_baseline", "--run-dir", (folder / "x").string(),
                         "--set", "train.resume=" + run.string()})
                 .err,
             says("its own folder"));
  CHECK(read_text_file(run / "rank-0000.jsonl", 1 << 24) == before);
  const auto again = [&](const std::vector<std::string>& words) {
    return run_lesson(with({std::string(ISOBAR_BIN) + "/01_baseline"}, words));
  };
  CHECK_THAT(again({"--set", "train.resume=" + run.string()}).out,
             says("train.resume is now called --resume"));
}

TEST_CASE("a run whose file was changed behind its checkpoint is not resumed under other settings") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=10"})).code == 0);
  fs::remove_all(run / "checkpoints/step-000020");
  std::string text = read_text_file(run / "run.toml", 1 << 20);
  const std::size_t begin = text.find("\nlr = ") + 1;
  REQUIRE(begin > 0);
  text.replace(begin, text.find('\n', begin) - begin, "lr = 0.01");
  write_file_whole(run / "run.toml", std::string_view(text));
  const ProcessResult result = resume(run);
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("optim.lr is ") && says("cannot become 0.01") && says("run.toml"));
}

TEST_CASE("other data under the same settings are found out") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=10"})).code == 0);
  const fs::path moved = folder / "moved";
  const std::string root = coarse().back();
  fs::copy(root.substr(root.find('=') + 1), moved, fs::copy_options::recursive);
  const ProcessResult same = resume(run, {"data.root=" + moved.string()});  // a copy is the same data
  CHECK(same.code == 0);
  const ProcessResult made =
      run_process({std::string(ISOBAR_BIN) + "/make_fields", "--grid", "24x48", "--samples", "32", "--seed",
                   "77", "--out", (folder / "other").string()});
  REQUIRE(made.code == 0);
  const ProcessResult other = resume(run, {"data.root=" + (folder / "other").string()});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, says("another data set") && says("train.init="));
  const Json last = of_kind(stream(run), "summary").back();
  CHECK(last["steps"] == 20);  // the attempt that could not begin takes nothing from the run
}

TEST_CASE("a half line that a killed run left is cut off, and every line stays readable") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=10"})).code == 0);
  std::string text = read_text_file(run / "rank-0000.jsonl", 1 << 24);
  std::istringstream lines(text);
  std::string kept;
  std::string line;
  for (int i = 0; i < 15 && std::getline(lines, line); ++i) kept += line + "\n";
  write_file_whole(run / "rank-0000.jsonl", kept + "{\"kind\":\"step\",\"st");
  fs::remove_all(run / "checkpoints/step-000020");
  REQUIRE(resume(run).code == 0);
  CHECK(stream(run).back()["status"] == "done");  // parsing throws on a half line
  CHECK(weights(run) == weights(uninterrupted()));
}

TEST_CASE("a checkpoint never holds a step that the stream of a killed run lacks") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const auto sets = with(kTwenty, {"run.flush_ms=60000", "train.checkpoint_every=6"});
  const ProcessResult killed = train(
      run, with(sets, {"run.fault=slow_stage", "run.fault_ms=50"}),
      {.signal = SIGKILL, .interrupt_when = [&] { return fs::exists(run / "checkpoints/step-000006"); }});
  REQUIRE(killed.code == 137);
  REQUIRE(resume(run, {"run.fault=none"}).code == 0);
  check_equal(run, uninterrupted());
}

TEST_CASE("a checkpoint of another kind of device goes on with a generator of this one") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  REQUIRE(train(run, with(kTwenty, {"train.checkpoint_every=10"})).code == 0);
  const fs::path all = run / "checkpoints";
  fs::remove_all(all / "step-000020");
  {
    CheckpointWriter writer(all, 10);  // the state of a CUDA generator has 16 bytes
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.toml", "config.toml"})
      writer.write_text(name, read_text_file(all / "step-000010" / name, 1 << 26));
    const std::vector<std::byte> bytes(16);
    const TensorToWrite tensor{"generator", "U8", {16}, bytes};
    writer.write_tensors("random.safetensors", {&tensor, 1});
    writer.finish();
  }
  REQUIRE(resume(run).code == 0);
  check_equal(run, uninterrupted());
}

TEST_CASE("two processes never write to one run") {
  const TempFolder folder;
  const fs::path run = folder / "run", paused = folder / "paused";
  ProcessOptions options = paused_in_step("4", paused, 0);
  options.interrupted = {};
  std::thread first([&] {
    const auto sets = with(kTwenty, {"train.checkpoint_every=1", "run.fault=slow_stage", "run.fault_ms=10"});
    CHECK(train(run, sets, options).code == 0);
  });
  until([&] { return fs::exists(paused); });
  const ProcessResult second = resume(run);
  fs::remove(paused);
  first.join();
  CHECK(second.code == 2);
  CHECK_THAT(second.err, says("another process writes to this run"));
  check_equal(run, uninterrupted());
}

TEST_CASE("a value that is no number is stopped before it reaches the weights, and named") {
  const TempFolder folder;
  const auto poisoned = [&](const std::string& fault) {
    const fs::path run = folder / fault;
    const ProcessResult result =
        train(run, with(kTwenty, {"train.checkpoint_every=5", "run.fault=" + fault, "run.fault_step=12"}));
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("step 13"));
    CHECK(of_kind(stream(run), "step").size() == 12);  // stopped in that very step
    const CheckpointSearch kept = find_checkpoint(run / "checkpoints");
    REQUIRE(kept.newest);
    CHECK(kept.newest->step == 10);
    CHECK_THAT(result.err, says("the checkpoint after step 10 is good"));
    REQUIRE(resume(run, {"run.fault=none"}).code == 0);
    CHECK(weights(run) == weights(uninterrupted()));
    return result.err;
  };
  CHECK_THAT(poisoned("nan_weight"), says("a weight is not a finite number") && says("blocks."));
  CHECK_THAT(poisoned("nan_gradient"),
             says("a gradient is not a finite number") && says("1 of 70") && says("blocks."));
  const ProcessResult alone =
      train(folder / "alone", with(kTwenty, {"run.fault=nan_gradient", "run.fault_step=2"}));
  CHECK_THAT(alone.err, says("no checkpoint was saved yet"));  // nothing is promised that is not there
}

TEST_CASE("signals at any moment: a checkpoint that loads, or no word of one", "[.][nightly]") {
  const TempFolder folder;
  std::mt19937 random(25);
  for (int i = 0; i < 50; ++i) {
    const fs::path run = folder / std::to_string(i);
    const int signal = std::vector<int>{SIGINT, SIGTERM, SIGUSR1}[random() % 3];
    const int moment_ms = static_cast<int>(random() % 2500);
    INFO("signal " << signal << " after " << moment_ms << " ms");
    // Evaluations and checkpoints fill most of the time, so that signals fall into them too.
    const ProcessResult result =
        train(run, with(kTwenty, {"train.checkpoint_every=1", "data.limit_train=4", "train.steps=100000"}),
              {.signal = signal, .interrupt_when = after_ms(moment_ms)});
    if (result.code != 75) {
      CHECK(result.code == 128 + signal);  // before the program could listen
      continue;
    }
    CHECK(stream(run).back()["status"] == "stopped");
    const CheckpointSearch found = find_checkpoint(run / "checkpoints");
    REQUIRE(found.newest);
    CHECK(found.newest->step == static_cast<std::int64_t>(of_kind(stream(run), "step").size()));
  }
}
