// The values that a page holds, each without a process: recorder, checkpoints, guard of gradients, means of
// the steady steps.
#include <cmath>
#include <limits>
#include <sstream>

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "run/training_sums.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/set_clock.h"
#include "support/temp_folder.h"
#include "training/run/made_run.h"

using namespace isobar;

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Json> lines_of(MadeRun& run, const std::string& kind) {
  run.output.flush();
  std::vector<Json> out;
  std::istringstream stream(read_text_file(run.output.folder().stream_file(0), 1 << 20));
  for (std::string line; std::getline(stream, line);) {
    Json json = Json::parse(line);
    if (json["kind"] == kind) out.push_back(std::move(json));
  }
  return out;
}

}  // namespace

TEST_CASE("a recorder writes a line a step, and the loss where a report is due") {
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(5));
  for (int i = 0; i < 5; ++i) run.step(1.0 / (i + 1));
  const std::vector<Json> steps = lines_of(run, "step");
  REQUIRE(steps.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(steps[i]["step"] == i);
    CHECK(steps[i]["samples"] == 2);
    CHECK(steps[i].contains("loss") == (i % 2 == 0));  // every second one, and the last
    CHECK(steps[i].contains("load_us"));
    CHECK_FALSE(steps[i].contains("forward_us"));  // never entered
  }
  CHECK(steps[4]["loss"].as_number() == Approx(0.2));
  const RunSummary summary = run.recorder.summary();
  CHECK(summary.steps == 5);
  CHECK(summary.samples == 10);
  CHECK(summary.first_loss == 1.0);
  CHECK(summary.last_loss == Approx(0.2));
}

TEST_CASE("what a step stood still for other ranks is counted to comm, once") {
  SetClock clock;
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(1));
  Step step = run.recorder.begin_step();
  step.enter(Stage::forward);
  clock.advance_us(1000);
  step.enter(Stage::backward);
  clock.advance_us(2000);
  step.leave();
  clock.advance_us(50);
  step.finish({.loss = at::scalar_tensor(1.0),
               .samples = 2,
               .sync = {.calls = 1, .tp_calls = 1, .tp_forward_wait_us = 300, .tp_backward_wait_us = 500}});
  const Json line = lines_of(run, "step").front();
  CHECK(line["forward_us"] == 700);
  CHECK(line["backward_us"] == 1500);
  CHECK(line["comm_us"] == 800);
  CHECK(line["step_us"] == 3050);
  CHECK(line["tp_wait_us"] == 800);
}

TEST_CASE("waits within backward are communication, and arithmetic behind it is not") {
  SetClock clock;
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(1));
  Step step = run.recorder.begin_step();
  step.enter(Stage::backward);
  clock.advance_us(2000);
  step.enter(Stage::comm);
  clock.advance_us(1000);
  step.leave();
  step.finish({.loss = at::scalar_tensor(1.0),
               .samples = 2,
               .sync = {.calls = 1, .compress_us = 900, .late_compress_us = 400, .backward_wait_us = 500}});
  const Json line = lines_of(run, "step").front();
  CHECK(line["backward_us"] == 1900);
  CHECK(line["comm_us"] == 1100);
  CHECK(line["compress_us"] == 900);
  CHECK(line["comm_wait_us"] == 500);
}

TEST_CASE("states that host memory does not hold are refused with both numbers") {
  check_host_memory(16'000'000, 2, {.free_bytes = 32'000'000, .total_bytes = 64'000'000});
  check_host_memory(16'000'000, 2, {});  // how much there is is not known
  CHECK_THAT(
      error_of(
          [] { check_host_memory(16'000'000, 3, {.free_bytes = 32'000'000, .total_bytes = 64'000'000}); }),
      says("the states of 3 ranks would take 48.0 MB of host memory, and 32.0 MB of 64.0 MB are free"));
}

TEST_CASE("a phase that is no step is what goes on until the next stage") {
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(2));
  CHECK(run.recorder.phase() == "start");
  const auto go_on = run.recorder.live("validating");
  CHECK(run.recorder.phase() == "validating");
  CHECK(go_on(1, 2));
  run.step(1);
  CHECK(run.recorder.phase() == "optimize");
}

TEST_CASE(
    "scores are due at the start, after each epoch and at the end, once each, and never when measuring") {
  Progress progress{.steps = 10, .steps_per_epoch = 4};
  std::vector<std::int64_t> due;
  for (; progress.steps_done <= 10; ++progress.steps_done) {
    if (!progress.scores_due()) continue;
    due.push_back(progress.steps_done);
    progress.scored_step = progress.steps_done;
    CHECK_FALSE(progress.scores_due());
  }
  CHECK(due == std::vector<std::int64_t>{0, 4, 8, 10});
  const Progress measures{.steps = 10, .measures = true};
  CHECK_FALSE(measures.scores_due());
}

TEST_CASE("a guard stops a gradient that is no number in front of the weights, and names it") {
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(5));
  run.step(1);
  const at::Tensor before = run.parameters.values().clone();
  CHECK_THAT(error_of([&] { run.step(1, kNan); }, Exit::failed),
             says("values overflowed in the forward pass") && says("step 2"));
  CHECK(before.equal(run.parameters.values()));
  run.parameters.zero_gradients();
  run.parameters.find("second").tensor.mutable_grad()[0][0].fill_(kNan);
  Step step = run.recorder.begin_step();
  CHECK_THAT(error_of([&] { run.guard.check(step); }, Exit::failed),
             says("1 of 2 tensors") && says("step 2, second") && says("no checkpoint was saved yet"));
  run.progress.checkpoint_step = 1;
  CHECK_THAT(error_of([&] { run.guard.check(step, at::scalar_tensor(kNan)); }, Exit::failed),
             says("the checkpoint after step 1 is good"));
  run.guard.check(step, at::scalar_tensor(2.0));
}

TEST_CASE("a guard of a run on made-up data lets everything pass") {
  const TempFolder folder;
  Config config = made_config(3);
  config.run.measure = MeasureKind::synthetic;
  MadeRun run(folder / "run", config);
  CHECK_NOTHROW(run.step(1, kNan));
  CHECK_NOTHROW(run.step(kNan));
}

TEST_CASE("a loss that is no number ends the run as soon as the host has it, and its line is there") {
  const TempFolder folder;
  MadeRun run(folder / "run", made_config(5));
  run.step(1);
  CHECK_THAT(error_of([&] { run.step(kNan); }, Exit::failed),
             says("the loss is nan") && says("step 2 or the 1 before it"));
  CHECK(lines_of(run, "step").back()["loss"] == "nan");
}

TEST_CASE("checkpoints are saved when they are due, once, and training goes on from one to the bit") {
  const TempFolder folder;
  Config config = made_config(6);
  config.train.checkpoint_every = 2;
  at::Tensor end;
  {
    MadeRun run(folder / "run", config);
    for (int i = 0; i < 5; ++i) {
      run.step(1.0 / (i + 1), 0.1 * (i + 1));
      run.checkpoints.save_when_due();
      run.checkpoints.save_when_due();
    }
    CHECK(run.progress.checkpoint_step == 4);
    std::vector<std::int64_t> saved;
    for (const Json& note : lines_of(run, "note"))
      if (note["text"] == "checkpoint") saved.push_back(note["step"].as_integer());
    CHECK(saved == std::vector<std::int64_t>{2, 4});
    end = run.parameters.values().clone();
    CHECK(run.output.end("failed", "on purpose", run.recorder.summary()) == nullptr);
  }
  Resume resume;
  resume.folder = folder / "run";
  resume.checkpoint = find_checkpoint(RunFolder{resume.folder}.checkpoints()).newest;
  REQUIRE(resume.checkpoint);
  resume.state = read_run_state(resume.checkpoint->path / kStateFile);
  MadeRun again(folder / "run", config, resume);
  again.checkpoints.resume();
  CHECK(again.progress.steps_done == 4);
  CHECK(again.loader.position() == 4);
  CHECK(again.output.attempt() == 1);
  again.step(0.2, 0.5);
  CHECK(again.parameters.values().equal(end));
  CHECK(again.recorder.summary().samples == 10);
  CHECK(again.recorder.summary().first_loss == 1.0);

  resume.state.train_data = "elsewhere";
  again.output.end("failed", "on purpose", again.recorder.summary());
  MadeRun other(folder / "run", config, resume);
  CHECK_THAT(error_of([&] { other.checkpoints.resume(); }, Exit::bad_input),
             says("another data set") && says("elsewhere"));
}

TEST_CASE("a broken weight does not take the place of a good checkpoint") {
  const TempFolder folder;
  Config config = made_config(6);
  config.train.checkpoint_every = 1;
  MadeRun run(folder / "run", config);
  run.step(1);
  run.checkpoints.save_when_due();
  run.step(1);
  at::Tensor(run.parameters.values())[0].fill_(kNan);
  CHECK_THAT(error_of([&] { run.checkpoints.save(); }, Exit::failed),
             says("no checkpoint was saved") && says("first") && says("the one after step 1 is still there"));
  CHECK(find_checkpoint(run.output.folder().checkpoints()).newest->step == 1);
}

TEST_CASE("steady means are over the steps that were added, and name who was waited for most") {
  TrainingSums sums;
  RunSummary none;
  sums.put_into(none);
  CHECK(none.step_us == 0);
  StageTimes times;
  for (const int i : {1, 2, 3}) {
    times.step_us = 1000 * i;
    times.stage_us[static_cast<std::size_t>(Stage::forward)] = 100 * i;
    times.entered[static_cast<std::size_t>(Stage::forward)] = true;
    sums.add(8, times, {.stall_us = 10 * i, .ready = i, .slots = 4},
             {.total_us = 20, .calls = 2, .wire_bytes = 64, .waited_for = i == 1 ? 0 : 3});
  }
  RunSummary out;
  sums.put_into(out);
  CHECK(out.step_us == 2000);
  CHECK(out.samples_per_s == Approx(8 / 2e-3));
  CHECK(out.stages_us == std::vector<std::pair<std::string, double>>{{"forward", 200}});
  CHECK(out.stall_us == 20);
  CHECK(out.ready_slots == 2);
  CHECK(out.comm_calls == 2);
  CHECK(out.waited_for == 3);
  sums.clear();
  CHECK(sums.empty());
}
