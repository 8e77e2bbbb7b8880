#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "core/files.h"
#include "core/json.h"
#include "fields/npy.h"
#include "fields/safetensors.h"
#include "launch/rank_status.h"
#include "lessons/lesson_run.h"
#include "lessons/refused.h"
#include "record/tfevents_reader.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

TEST_CASE("a run leaves its whole story in the run folder") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=12", "train.report_every=5"});
  REQUIRE(result.code == 0);
  const std::vector<Json> lines = stream(folder / "run");
  CHECK(lines.front()["kind"] == "run");
  CHECK(lines.front()["schema"] == 1);
  CHECK(lines.front()["lesson"] == "01_baseline");
  CHECK(lines[lines.size() - 2]["kind"] == "summary");
  CHECK(lines.back()["kind"] == "end");
  CHECK(lines.back()["status"] == "done");
  const std::vector<Json> steps = of_kind(lines, "step");
  REQUIRE(steps.size() == 12);  // train.steps is exact
  std::int64_t stages_us = 0;
  std::int64_t all_us = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i]["step"] == i);
    CHECK(steps[i]["samples"] == 4);
    CHECK(steps[i].contains("loss") == (i % 5 == 0 || i == 11));
    for (const char* stage : {"load_us", "copy_us", "forward_us", "backward_us", "optimize_us"}) {
      stages_us += steps[i][stage].as_integer();
    }
    all_us += steps[i]["step_us"].as_integer();
  }
  CHECK(stages_us <= all_us);
  const std::vector<Json> evals =
      of_kind(lines, "eval");  // at the start, after the epoch of 8 steps, at the end
  REQUIRE(evals.size() == 3);
  CHECK(evals[1]["step"] == 8);
  CHECK(evals[2]["step"] == 12);
  CHECK(evals[2]["loss"].as_number() < evals[0]["loss"].as_number());
  CHECK(evals[2].contains("rmse_u10m"));
  for (const char* score :
       {"rmse_t2m", "persistence_rmse_u10m", "climatology_rmse_u10m", "acc_u10m", "acc_tcwv"}) {
    CHECK(evals[2].contains(score));
  }
  CHECK(evals[2]["persistence_rmse_u10m"] == evals[0]["persistence_rmse_u10m"]);
  CHECK(evals[2]["acc_u10m"].as_number() > evals[0]["acc_u10m"].as_number());
  const NpyArray fields = read_npy(folder / "run/fields/step-000012.npy");
  CHECK(fields.shape == std::vector<std::int64_t>{3, 20, 48, 96});
  std::map<std::string, std::vector<std::int64_t>> tags;
  const std::filesystem::path log = *std::filesystem::directory_iterator(folder / "run/tb");
  const TfEvents events = TfEventsReader(log).read_new();
  for (const TfScalar& scalar : events.scalars) tags[scalar.tag].push_back(scalar.step);
  for (const char* tag : {"Loss/train", "Loss/valid", "RMSE(u10m)/valid"}) {
    CHECK(tags[tag] == std::vector<std::int64_t>{0, 8, 12});
  }
  for (const char* tag : {"Learning Rate", "Avg iters per sec", "Avg samples per sec"}) {
    CHECK(tags[tag] == std::vector<std::int64_t>{8, 12});
  }
  CHECK(events.images.size() == 3);
  CHECK(events.images[0].tag == "Visualization, t2m");
  CHECK_THAT(read_text_file(folder / "run/run.toml", 1 << 20), says("[environment]") && says("steps = 12"));
  CHECK(read_text_file(folder / "run/console.log", 1 << 20) == result.out);
  CHECK(open_safetensors(folder / "run/weights.safetensors").tensors.size() == 16 * 4 + 6);
}

TEST_CASE("two runs of one seed and thread count are equal bit for bit, and run.toml repeats a run") {
  const TempFolder folder;
  const std::vector<std::string> sets = with(coarse(), {"train.steps=10", "train.report_every=1"});
  REQUIRE(train(folder / "one", sets).code == 0);
  REQUIRE(train(folder / "two", sets).code == 0);
  const ProcessResult again = run_lesson({bin_folder(ISOBAR_BIN) + "/01_baseline", "--config",
                                          folder / "one/run.toml", "--run-dir", folder / "three"});
  REQUIRE(again.code == 0);
  for (const char* other : {"two", "three"}) {
    CHECK(read_text_file(folder / "one/weights.safetensors", 1 << 24) ==
          read_text_file(folder / other / std::string("weights.safetensors"), 1 << 24));
    const std::vector<Json> ours = of_kind(stream(folder / "one"), "step");
    const std::vector<Json> theirs = of_kind(stream(folder / other), "step");
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i]["loss"] == theirs[i]["loss"]);
  }
  REQUIRE(train(folder / "seed", with(sets, {"train.seed=2"})).code == 0);
  CHECK(of_kind(stream(folder / "one"), "step")[0]["loss"] !=
        of_kind(stream(folder / "seed"), "step")[0]["loss"]);
}

TEST_CASE("first weights can be saved and given, and the order can stay plain") {
  const TempFolder folder;
  const std::string saved = (folder / "init.safetensors").string();
  REQUIRE(train(folder / "a", with(coarse(), {"train.steps=4", "train.save_init=" + saved})).code == 0);
  REQUIRE(
      train(folder / "b", with(coarse(), {"train.steps=4", "train.seed=9", "train.init=" + saved})).code ==
      0);
  REQUIRE(train(folder / "again", with(coarse(), {"train.steps=1", "train.save_init=" + saved})).code ==
          0);  // the same ones
  const std::string trained = (folder / "a/weights.safetensors").string();
  const std::string notes = (folder / "notes.txt").string();
  write_file_whole(notes, std::string_view("the work of years"));
  for (const std::string& theirs : {trained, notes}) {
    const std::string before = read_text_file(theirs, 1 << 24);
    const ProcessResult over =
        train(folder / "over", with(coarse(), {"train.steps=1", "train.save_init=" + theirs}));
    CHECK(over.code == 2);
    CHECK_THAT(over.err, says("the file is there") && says("name another with train.save_init"));
    CHECK(read_text_file(theirs, 1 << 24) == before);
    CHECK_FALSE(std::filesystem::exists(folder / "over"));
  }
  const auto weights = [&](const char* run) {
    return read_text_file(folder / run / std::string("weights.safetensors"), 1 << 24);
  };
  CHECK(weights("a") == weights("b"));
  REQUIRE(train(folder / "c", with(coarse(), {"train.steps=4", "train.init=" + saved, "data.shuffle=false"}))
              .code == 0);
  REQUIRE(train(folder / "d",
                with(coarse(), {"train.steps=4", "train.init=" + saved, "data.shuffle=false", "data.seed=4"}))
              .code == 0);
  CHECK(weights("c") == weights("d"));  // without shuffling the seed of the order changes nothing
  CHECK(weights("c") != weights("a"));
}

TEST_CASE("training forecasts better than it began") {
  const TempFolder folder;
  REQUIRE(train(folder / "run", with(coarse(), {"train.steps=120", "optim.lr=1e-3"})).code == 0);
  const std::vector<Json> evals = of_kind(stream(folder / "run"), "eval");
  CHECK(evals.back()["loss"].as_number() < 0.6 * evals.front()["loss"].as_number());
}

TEST_CASE("a request to stop ends after the step, with what was recorded readable") {
  const TempFolder folder;
  for (const int signal : {2, 15, 10, 1}) {
    const std::filesystem::path run = folder / ("run" + std::to_string(signal));
    const ProcessResult result =
        train(run, {"train.steps=1000000"}, {.signal = signal, .interrupt_when = when_steps(run, 2)});
    CHECK(result.code == 75);  // with a complete checkpoint
    const std::vector<Json> lines = stream(run);
    CHECK(lines.back()["kind"] == "end");
    CHECK(lines.back()["status"] == "stopped");
    CHECK(of_kind(lines, "step").size() > 1);
    CHECK(std::filesystem::exists(run / "weights.safetensors"));
  }
}

TEST_CASE("bad input ends with code 2 and a sentence, before or after the run folder is made") {
  const auto refused = [](const std::string& set) { return refusal("01_baseline", {set}); };
  CHECK_THAT(refused("run.device=cuda"), says("CUDA") && says("run.device=cpu"));
  CHECK_THAT(refused("run.device=tpu"), says("\"tpu\" is not a device"));
  CHECK_THAT(refused("run.device=cuda:x"), says("cuda:x"));
  CHECK_THAT(refused("amp.mode=tf32"), says("TF32 exists on CUDA"));
  CHECK_THAT(refused("data.channels=19"), says("20 channels") && says("is 19") && says("2001.h5"));
  CHECK_THAT(refused("train.global_batch=33"), says("batch of 33") && says("32 samples"));
  CHECK_THAT(refused("data.grid=[48, 104]"), says("48 x 96") && says("48 x 104"));
  CHECK_THAT(refused("data.root=/nowhere"), says("/nowhere"));
  CHECK_THAT(refused("train.init=/nowhere.safetensors"), says("/nowhere.safetensors"));
  CHECK_THAT(refused("data.grid=[50, 96]"), says("50 rows"));
  CHECK_THAT(refused("model.heads=5"), says("5 equal heads"));
}

TEST_CASE("a run that fails says so in its stream") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=2", "data.channels=19"});
  CHECK(result.code == 2);
  const std::vector<Json> lines = stream(folder / "run");
  CHECK(lines.back()["kind"] == "end");
  CHECK(lines.back()["status"] == "failed");
  CHECK_THAT(lines.back()["reason"].as_text(), says("20 channels"));
}

TEST_CASE("a loss that is no number ends the run, and the step is named") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=50", "optim.lr=1e6"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err,
             says("the loss is not a finite number") && says("step ") && says("smaller optim.lr"));
  const std::vector<Json> lines = stream(folder / "run");
  CHECK(lines.back()["status"] == "failed");
  CHECK_THAT(lines.back()["reason"].as_text(), says("not a finite number"));
  for (const Json& step : of_kind(lines, "step"))
    if (step.contains("loss")) CHECK_NOTHROW(step["loss"].as_number());
}

TEST_CASE("a full disk ends the run, and what was written stays readable") {
  const TempFolder folder;
  const ProcessResult result = train(folder / "run", {"train.steps=3000"}, {.file_limit_bytes = 100'000});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("rank-0000.jsonl") || says("fields/step"));
  const std::vector<Json> lines = stream(folder / "run");  // parsing throws on a half line
  CHECK(lines.size() > 1);
}

TEST_CASE("a second request to stop ends at once") {
  const TempFolder folder;
  // The first signal asks, in the middle of a step of a minute; others come while it goes on.
  const std::vector<std::string> slow = {"train.steps=50", "run.fault=slow_stage", "run.fault_ms=60000"};
  for (const auto& [signal, code] : {std::pair{2, 130}, {15, 143}}) {
    const std::filesystem::path run = folder / std::to_string(signal);
    const auto loads = [&] {
      const std::optional<RankStatus> status = read_rank_status(run, 0);
      return status && status->stage == "load";
    };
    const ProcessResult result = train(run, slow, {.signal = signal, .interrupt_when = loads, .times = 1000});
    CHECK(result.code == code);
    CHECK(of_kind(stream(run), "step").empty());
  }
  // A warning is no request to end.
  const ProcessResult warned =
      train(folder / "warned", {"train.steps=1000000"},
            {.signal = 10, .interrupt_when = when_steps(folder / "warned", 2), .times = 3, .pause_ms = 20});
  CHECK(warned.code == 75);
}

TEST_CASE("mistakes on purpose do what they say, and are marked in every output") {
  const TempFolder folder;
  const std::vector<std::string> sixteen = with(coarse(), {"train.steps=16", "train.report_every=1"});
  const auto run = [&](const std::string& name, std::vector<std::string> sets) {
    sets.push_back("run.fault=" + name);
    const ProcessResult result = train(folder / name, with(sixteen, sets));
    INFO(name << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("FAULT   " + name) && says("done  with the fault " + name));
    const std::vector<Json> lines = stream(folder / name);
    CHECK(lines.front()["fault"] == name);
    const std::filesystem::path log = *std::filesystem::directory_iterator(folder / name / "tb");
    CHECK(TfEventsReader(log).read_new().scalars.front().tag == "Fault/" + name);
    return lines;
  };
  REQUIRE(train(folder / "good", sixteen).code == 0);
  const std::vector<Json> good = stream(folder / "good");
  const auto loss = [](const std::vector<Json>& lines, std::size_t step) {
    return of_kind(lines, "step")[step]["loss"].as_number();
  };
  CHECK(good.front()["fault"] == "none");
  const std::vector<Json> piled = run("no_zero_grad", {});
  CHECK(loss(piled, 0) == loss(good, 0));
  CHECK(loss(piled, 9) != loss(good, 9));
  const std::vector<Json> plain = run("no_shuffle", {});
  CHECK(loss(plain, 0) != loss(good, 0));
  REQUIRE(train(folder / "unshuffled", with(sixteen, {"data.shuffle=false"})).code == 0);
  CHECK(loss(plain, 12) == loss(stream(folder / "unshuffled"), 12));
  CHECK(std::abs(loss(run("no_normalise", {}), 0) - loss(good, 0)) > 1e-3);
  CHECK(loss(run("sync_each_step", {}), 15) == loss(good, 15));
  CHECK(loss(run("wrong_unpatch", {}), 3) != loss(good, 3));
  CHECK(loss(run("train_on_valid", {}), 0) != loss(good, 0));
  const auto load_us = [](const std::vector<Json>& lines) {
    std::vector<std::int64_t> all;
    for (const Json& step : of_kind(lines, "step")) all.push_back(step["load_us"].as_integer());
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  // 8 fields of 20 x 24 x 48 floats at 290 MB/s: at least 2.5 ms.
  CHECK(load_us(run("slow_disk", {})) >= 8 * 20 * 24 * 48 * 4 / 290);
}

TEST_CASE("30 ms planted in a stage appear in that stage and nowhere else") {
  // On a clock that goes on only where the loop sleeps.
  const std::vector<std::string> environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_STILL=1"};
  const TempFolder folder;
  const std::vector<std::string> stages = {"load", "copy", "forward", "backward", "optimize"};
  for (const std::string& slow : stages) {
    const ProcessResult result =
        train(folder / slow,
              with(coarse(), {"train.steps=3", "data.limit_valid=4", "run.fault=slow_stage",
                              "run.fault_stage=" + slow, "run.fault_ms=30"}),
              {.environment = environment});
    INFO(slow << "\n" << result.err);
    REQUIRE(result.code == 0);
    for (const Json& step : of_kind(stream(folder / slow), "step")) {
      for (const std::string& stage : stages) CHECK(step[stage + "_us"] == (stage == slow ? 30'000 : 0));
      CHECK(step["step_us"] == 30'000);
    }
  }
}

TEST_CASE("what a step does before, between and behind its stages is counted to none of them") {
  // On a clock that goes on by a second whenever the loop looks at it.
  const TempFolder folder;
  REQUIRE(train(folder / "run", {"train.steps=4", "data.limit_valid=4"},
                {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_STILL=1",
                                 "SHIM_TICK_US=1000000"}})
              .code == 0);
  for (const Json& step : of_kind(stream(folder / "run"), "step")) {
    if (step["step"].as_integer() >= 2) continue;  // operators are watched, then memory, by the same clock
    INFO(step.text());
    std::int64_t rest_us = step["step_us"].as_integer();
    for (const char* const stage : {"load", "copy", "forward", "backward", "optimize"})
      rest_us -= step[std::string(stage) + "_us"].as_integer();
    CHECK(step["optimize_us"] == 1'000'000);
    // Before the first stage, and behind the last.
    CHECK(rest_us == 2'000'000);
  }
}

TEST_CASE("a run takes the threads that its environment gives it, and records what decided") {
  const TempFolder folder;
  const auto trained = [&](const std::string& run, const std::vector<std::string>& environment) {
    ProcessResult result =
        train(folder / run, with(coarse(), {"train.steps=1", "run.threads=0"}), {.environment = environment});
    REQUIRE(result.code == 0);
    result.out += read_text_file(folder / run / "run.toml", 1 << 20);
    return result.out;
  };
  CHECK_THAT(trained("one", {"OMP_NUM_THREADS=3,2", "SLURM_CPUS_PER_TASK=1"}),
             says("3 threads: OMP_NUM_THREADS)") && says("threads_by = \"OMP_NUM_THREADS\"") &&
                 says("\nthreads = 3\n"));
  CHECK_THAT(trained("two", {"OMP_NUM_THREADS=all", "SLURM_CPUS_PER_TASK=1"}),
             says("1 thread: SLURM_CPUS_PER_TASK)") &&
                 says("threads OMP_NUM_THREADS is \"all\", which is no number"));
}

TEST_CASE("a run folder that cannot be written is said before training") {
  const ProcessResult result = train("/proc/isobar/run", {"train.steps=1"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, says("/proc/isobar/run"));
}

TEST_CASE("a run folder is never written over") {
  const TempFolder folder;
  REQUIRE(train(folder / "run", {"train.steps=1"}).code == 0);
  const ProcessResult again = train(folder / "run", {"train.steps=1"});
  CHECK(again.code == 2);
  CHECK_THAT(again.err, says("holds a run already"));
}

TEST_CASE("training goes on when nobody reads what it says any more") {
  const TempFolder folder;
  const std::filesystem::path run = folder / "run";
  const ProcessResult result = run_process(
      {"/bin/bash", "-c",
       "\"$0\" --preset cpu_micro --run-dir \"$1\" --set data.root=\"$2\" --set train.steps=20 --set "
       "train.report_every=1 | head -n 1; exit ${PIPESTATUS[0]}",
       std::string(ISOBAR_BIN) + "/01_baseline", run.string(), data().string()});
  CHECK(result.code == 0);
  CHECK(of_kind(stream(run), "step").size() == 20);
  CHECK(stream(run).back()["status"] == "done");
}
