// Lesson 15 as a learner runs it: stages train as one process does, on any mesh, and end together.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lessons/compared_runs.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"
#include "support/tolerance_values.h"

namespace isobar::test_pipeline_lesson {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "15_pipeline";

using Sets = std::vector<std::string>;

/// A model of four blocks, 8 samples a step in 4 micro-batches of each replica.
const Sets kTiny = {"train.steps=10", "train.global_batch=8", "data.limit_valid=8", "model.embed=32"};

bool has_every_product() { return std::getenv("ISOBAR_PRODUCTS") != nullptr; }

ProcessResult run_mesh(int ranks, const fs::path& run, const Sets& sets) {
  return run_ranks(ranks, run, with(kTiny, sets), {}, kLesson);
}

void train_mesh(int ranks, const fs::path& run, const Sets& sets) {
  const ProcessResult result = run_mesh(ranks, run, sets);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

std::vector<Json> steps_of(const fs::path& run, int rank) { return of_kind(stream_of(run, rank), "step"); }

double valid_loss(const fs::path& run, int rank) {
  return of_kind(stream_of(run, rank), "eval").back()["loss"].as_number();
}

struct Form {
  std::string name;
  int ranks = 1;
  Sets sets;
};

Form form_of(const std::string& name) {
  static const std::vector<Form> all = {
      {"gpipe-2", 2, {"mesh.pp=2", "mesh.schedule=gpipe"}},
      {"1f1b-2", 2, {"mesh.pp=2"}},
      {"1f1b-4", 4, {"mesh.pp=4"}},
      {"uneven", 2, {"mesh.pp=2", "mesh.stage_blocks=[1, 3]"}},
      {"interleaved", 2, {"mesh.pp=2", "mesh.schedule=interleaved", "mesh.chunks=2"}},
      {"zb_h1", 2, {"mesh.pp=2", "mesh.schedule=zb_h1"}},
      {"zb_v", 2, {"mesh.pp=2", "mesh.schedule=zb_v", "mesh.chunks=2"}},
      {"zb_h1-4", 4, {"mesh.pp=4", "mesh.schedule=zb_h1"}},
      {"tp-pp", 4, {"mesh.tp=2", "mesh.pp=2"}},
      {"tp-pp-tokens", 4, {"mesh.tp=2", "mesh.pp=2", "mesh.sequence_parallel=true"}},
      {"pp-dp", 4, {"mesh.pp=2", "train.accumulate=2"}},
      {"pp-dp-zero", 4, {"mesh.pp=2", "train.accumulate=2", "mesh.zero=1", "mesh.stage_blocks=[3, 1]"}},
      {"dp-zero", 2, {"mesh.zero=1"}},
      {"dp", 2, {}},
  };
  return *std::find_if(all.begin(), all.end(), [&](const Form& one) { return one.name == name; });
}

/// `form` behind ten steps, beside one process.
void check_equal(const Form& form, const TempFolder& folder, const fs::path& alone) {
  INFO(form.name);
  const fs::path run = folder / form.name;
  train_mesh(form.ranks, run, form.sets);
  CHECK(apart(joint_losses(run), joint_losses(alone)) <= 1e-5);
  CHECK(difference_of_files(run / "weights.safetensors", alone / "weights.safetensors") < 1e-5);
  CHECK(summary_of(run)["samples"] == 80);  // whatever the mesh
  for (int rank = 0; rank < form.ranks; ++rank)
    CHECK(std::fabs(valid_loss(run, rank) - valid_loss(alone, 0)) <= 1e-5);
}

}  // namespace

TEST_CASE("every mesh and schedule trains as one process does, and leaves its file") {
  const TempFolder folder;
  const fs::path alone = folder / "alone";
  train_mesh(1, alone, {});
  CHECK(joint_losses(alone).size() == 10);
  const Picks core = {"1f1b-4", "tp-pp", "pp-dp-zero"};
  const Picks others = {"gpipe-2", "interleaved",  "1f1b-2", "uneven",  "zb_h1", "zb_h1-4",
                        "zb_v",    "tp-pp-tokens", "pp-dp",  "dp-zero", "dp"};
  for (const std::string& name : core) check_equal(form_of(name), folder, alone);
  if (has_every_product())
    for (const std::string& name : others) check_equal(form_of(name), folder, alone);
  // What is computed of a block does not depend on where the model is cut.
  CHECK(weights_of(folder / "1f1b-4") == weights_of(alone));
}

TEST_CASE(
    "a run prints how its model is cut, and records for each step how long it was idle and what it sent") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result = run_mesh(2, run, {"mesh.pp=2", "train.steps=4", "mesh.stage_blocks=[3, 1]"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("1 model of 2 ranks each: tp 1 x pp 2 x dp 1") &&
                             says("2 of 3 1 blocks; schedule 1f1b, 4 micro-batches"));
  for (int rank = 0; rank < 2; ++rank) {
    for (const Json& step : steps_of(run, rank)) {
      CHECK(step["pipe_busy_us"].as_integer() > 0);
      CHECK(step["pipe_us"].as_integer() >= step["pipe_busy_us"].as_integer());
      CHECK(step["pipe_calls"] == 4);
      CHECK(step["pipe_bytes"] == 8 * 18 * 32 * 4);  // float32 of 18 tokens of each sample
      CHECK(step["pipe_kept"] == 2 - rank);
    }
  }
  const fs::path alone = folder / "alone";
  train_mesh(1, alone, {"train.steps=4"});
  // It counts the whole model, not a stage.
  const auto parameters = [](const fs::path& of) {
    for (const Json& note : of_kind(stream_of(of, 0), "note"))
      if (note["text"] == "plan") return note["parameters"].as_integer();
    return std::int64_t{0};
  };
  CHECK(parameters(run) == parameters(alone));
}

TEST_CASE("a run continues on any mesh: to the bit where sums keep their order") {
  const TempFolder folder;
  const fs::path whole = folder / "whole";
  train_mesh(2, whole, {"mesh.pp=2", "train.steps=6", "train.checkpoint_every=3"});
  const auto again = [&](const std::string& name, int ranks, const Sets& sets, const fs::path& from) {
    INFO(name);
    const fs::path run = folder / name;
    fs::copy(from, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000006");
    fs::remove(run / "weights.safetensors");
    const ProcessResult result = resume_ranks(ranks, run, sets, kLesson);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("after step 3"));
    CHECK(apart(joint_losses(run), joint_losses(whole)) <= 1e-5);
    return weights_of(run);
  };
  const std::string expected = weights_of(whole);
  CHECK(again("deeper", 4, {"mesh.pp=4"}, whole) == expected);
  again("mixed", 4, {"mesh.tp=2", "mesh.zero=1"}, whole);
  if (!has_every_product()) return;
  CHECK(again("alone", 1, {"mesh.pp=1"}, whole) == expected);
  const fs::path shares = folder / "shares";
  train_mesh(2, shares, {"mesh.zero=1", "train.steps=6", "train.checkpoint_every=3"});
  again("from-shares", 4, {"mesh.zero=0", "mesh.pp=4"}, shares);
  again("chunks", 2, {"mesh.schedule=interleaved", "mesh.chunks=2"}, whole);
  again("shares-of-stages", 2, {"mesh.zero=1"}, whole);
  const fs::path many = folder / "many";
  train_mesh(4, many,
             {"mesh.pp=2", "mesh.stage_blocks=[1, 3]", "mesh.zero=1", "train.accumulate=2", "train.steps=6",
              "train.checkpoint_every=3"});
  again("from-many", 1, {"mesh.pp=1", "mesh.stage_blocks=[]", "mesh.zero=0"}, many);
}

TEST_CASE("weights go to stages from a file of one process, and back") {
  const TempFolder folder;
  const Sets few = {"train.steps=2"};
  const std::string first = (folder / "first").string();
  train_mesh(1, folder / "alone", with(few, {"train.seed=5", "train.save_init=" + first}));
  train_mesh(4, folder / "stages",
             with(few, {"mesh.pp=4", "train.init=" + first, "train.save_init=" + first + "-again"}));
  CHECK(read_text_file(first + "-again", 1 << 24) == read_text_file(first, 1 << 24));
  CHECK(weights_of(folder / "stages") == weights_of(folder / "alone"));
  // A tensor that no stage has is still one too many.
  const ProcessResult shallow =
      run_mesh(2, folder / "shallow", with(few, {"mesh.pp=2", "model.depth=3", "train.init=" + first}));
  CHECK(shallow.code == 2);
  CHECK_THAT(shallow.err, says("the file has a tensor that the model lacks"));
}

TEST_CASE("the length of the gradient is that of all stages, which shorten it alike and skip together") {
  const TempFolder folder;
  const Sets clipped = {"train.steps=4", "optim.clip_norm=0.01"};
  train_mesh(1, folder / "alone", clipped);
  train_mesh(4, folder / "stages", with(clipped, {"mesh.pp=4"}));
  CHECK(apart(joint_losses(folder / "stages"), joint_losses(folder / "alone")) <= 1e-5);
  const std::vector<Json> alone = steps_of(folder / "alone", 0);
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<Json> steps = steps_of(folder / "stages", rank);
    for (std::size_t i = 0; i < steps.size(); ++i)
      CHECK(steps[i]["grad_norm"].as_number() == Approx(alone[i]["grad_norm"].as_number()).epsilon(1e-4));
  }
  const Sets half = {"train.steps=12", "amp.mode=fp16", "amp.init_scale=1e9", "mesh.pp=2"};
  const auto skip_together = [&](int ranks, const fs::path& run, const Sets& sets) {
    train_mesh(ranks, run, with(half, sets));
    const std::vector<Json> first = steps_of(run, 0);
    CHECK(first.back()["skipped"].as_integer() > 0);
    CHECK(first.back()["skipped"].as_integer() < 12);
    for (int rank = 1; rank < ranks; ++rank) {
      const std::vector<Json> other = steps_of(run, rank);
      REQUIRE(first.size() == other.size());
      for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(first[i]["scale"] == other[i]["scale"]);
        CHECK(first[i]["skipped"] == other[i]["skipped"]);
      }
    }
  };
  skip_together(2, folder / "half", {});
  if (!has_every_product()) return;
  skip_together(4, folder / "half-shares", {"mesh.zero=1", "train.accumulate=2"});
  const ProcessResult broken = run_mesh(
      2, folder / "broken", {"mesh.pp=2", "train.steps=4", "run.fault=nan_gradient", "run.fault_step=2"});
  CHECK(broken.code == 1);
  CHECK_THAT(broken.out + broken.err, says("a gradient is not a finite number"));
}

TEST_CASE("a schedule from a file trains as ours, and one that cannot run is refused with its cell") {
  const TempFolder folder;
  const auto schedule = [&](const std::string& name, const std::string& csv) {
    write_file_whole(folder / name, csv);
    return Sets{"mesh.pp=2", "train.steps=4", "mesh.schedule=file",
                "mesh.schedule_file=" + (folder / name).string()};
  };
  train_mesh(2, folder / "ours", {"mesh.pp=2", "train.steps=4"});
  train_mesh(2, folder / "theirs",
             schedule("own.csv", "0F0,0F1,0F2,0F3,,0B0,0B1,0B2,0B3\n,1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n"));
  CHECK(weights_of(folder / "theirs") == weights_of(folder / "ours"));
  const ProcessResult missing =
      run_mesh(2, folder / "missing",
               schedule("missing.csv", "0F0,0F1,0F2,0F3,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n"));
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, says("0B3") && says("missing.csv"));
  const ProcessResult cycle =
      run_mesh(2, folder / "cycle",
               schedule("cycle.csv", "0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3\n1F1,1B1,1F0,1B0,1F2,1B2,1F3,1B3\n"));
  CHECK(cycle.code == 2);
  CHECK_THAT(cycle.err, says("cycle.csv") && says("rank 0") && says("rank 1") && says("0B0") && says("1F1"));
}

TEST_CASE("the mistakes of lesson 15 are reported, and show in figures") {
  const TempFolder folder;
  const Sets few = {"mesh.pp=2", "train.steps=2"};
  train_mesh(2, folder / "right", few);
  const ProcessResult uneven = run_mesh(2, folder / "uneven", with(few, {"run.fault=imbalance"}));
  INFO(uneven.out << uneven.err);
  REQUIRE(uneven.code == 0);
  CHECK_THAT(uneven.out, says("imbalance") && says("of 3 1 blocks"));
  CHECK(weights_of(folder / "uneven") == weights_of(folder / "right"));
  const ProcessResult unscaled = run_mesh(2, folder / "unscaled", with(few, {"run.fault=no_loss_scale"}));
  INFO(unscaled.out << unscaled.err);
  REQUIRE(unscaled.code == 0);
  CHECK(steps_of(folder / "unscaled", 1)[0]["grad_norm"].as_number() ==
        Approx(4 * steps_of(folder / "right", 1)[0]["grad_norm"].as_number()).epsilon(1e-4));
}

TEST_CASE("gradients that overflow on one of several models in one process each make both skip the step") {
  const TempFolder folder;
  train_mesh(2, folder / "run",
             {"train.steps=4", "amp.mode=fp16", "run.fault=inject_inf", "run.fault_step=2"});
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<Json> steps = steps_of(folder / "run", rank);
    CHECK(steps[2]["skipped"].as_integer() == steps[1]["skipped"].as_integer() + 1);
    CHECK(steps[3]["skipped"] == steps[2]["skipped"]);
  }
  for (const char* const fault : {"unequal_batch", "other_order"})
    CHECK_THAT(refusal(kLesson, {"run.ranks=2", "train.global_batch=8", std::string("run.fault=") + fault}),
               says(fault));
}

TEST_CASE("a wrong order of sends ends by the deadline, which names who waits for what") {
  if (!has_every_product()) return;
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result =
      run_mesh(2, run, {"mesh.pp=2", "train.steps=2", "run.fault=deadlock", "comm.timeout_s=20"});
  INFO(result.out << result.err);
  CHECK(result.code != 0);
  CHECK_THAT(result.out + result.err, says("Missing: ") && says("pp forward") && says("pp backward"));
  CHECK(no_process_left(run));
}

TEST_CASE("a stage that is lost ends all of them with its name") {
  const TempFolder folder;
  for (const Picks& c :
       cases_of({"kill_rank backward gloo"},
                products({{"kill_rank", "stop_rank"}, {"forward", "backward", "comm"}, {"ring", "gloo"}}))) {
    INFO(c[0] << " in " << c[1] << ", " << c[2]);
    const fs::path run = folder / (c[0] + c[1] + c[2]);
    const std::string patience =
        c[0] == "stop_rank" ? "20" : "300";  // nothing but time shows a rank that stops
    const ProcessResult result =
        run_mesh(4, run,
                 {"mesh.pp=4", "train.steps=6", "comm.timeout_s=" + patience, "run.fault=" + c[0],
                  "run.fault_stage=" + c[1], "run.fault_step=3", "run.fault_rank=2", "comm.backend=" + c[2]});
    INFO(result.out << result.err);
    CHECK(result.code != 0);
    CHECK_THAT(result.err.substr(std::min(result.err.size(), result.err.rfind("error: rank"))),
               says("rank 2"));
    CHECK(no_process_left(run));
  }
}

TEST_CASE("a stop between stages leaves a checkpoint from which they continue") {
  if (!has_every_product()) return;
  const TempFolder folder;
  const fs::path run = folder / "run";
  const Sets sets = {"mesh.pp=2", "train.steps=16"};
  train_mesh(2, folder / "whole", sets);
  const Sets slow = with(sets, {"run.fault=slow_stage", "run.fault_stage=optimize", "run.fault_ms=1500"});
  const ProcessResult stopped = run_ranks(2, run, with(kTiny, slow),
                                          {.signal = SIGTERM, .interrupt_when = when_steps(run, 3)}, kLesson);
  INFO(stopped.out << stopped.err);
  REQUIRE(stopped.code == 75);
  const ProcessResult resumed = resume_ranks(2, run, {"run.fault=none"}, kLesson);
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(weights_of(run) == weights_of(folder / "whole"));
}

TEST_CASE("a stop that reaches one stage in the middle of validation stops all of them") {
  if (!has_every_product()) return;
  const TempFolder folder;
  const fs::path run = folder / "run";
  const auto validates = [&] {
    const std::optional<RankStatus> status = read_rank_status(run, 1);
    if (!status || status->process != RankProcess::runs || status->stage != "validating") return false;
    return kill(static_cast<pid_t>(status->pid), SIGTERM) == 0;
  };
  const ProcessResult result = run_ranks(
      2, run, with(kTiny, {"mesh.pp=2", "data.limit_valid=0", "data.throttle_mb_per_s=1", "train.steps=2"}),
      {.signal = 0, .interrupt_when = validates}, kLesson);
  INFO(result.out << result.err);
  CHECK(result.code == 75);
  CHECK(of_kind(stream_of(run, 0), "eval").size() < 2);  // it came to the first one, or to the last
  CHECK(no_process_left(run));
}

TEST_CASE("pipelines that fit nothing are refused with what would") {
  const auto refused = [](Sets sets) {
    return refusal(kLesson, with({"train.global_batch=24", "run.ranks=4"}, sets));
  };
  CHECK_THAT(refused({"mesh.pp=4", "mesh.chunks=2", "mesh.schedule=interleaved"}),
             says("4 blocks cannot be cut in 8 stages") && says("mesh.pp x mesh.chunks of 4 at most"));
  CHECK_THAT(refused({"mesh.pp=4", "train.accumulate=5"}), says("24 samples") && says("5 backward passes"));
  CHECK_THAT(refused({"mesh.pp=2", "mesh.chunks=2", "mesh.schedule=interleaved", "train.accumulate=3"}),
             says("rounds of mesh.pp = 2") && says("train.accumulate="));
  CHECK_THAT(refused({"mesh.pp=3"}), says("4 ranks cannot form models of 3 ranks each"));
  CHECK_THAT(refused({"mesh.pp=4", "mesh.stage_blocks=[1, 1, 1]"}), says("4 numbers that add up to 4"));
  CHECK_THAT(refused({"mesh.pp=4", "mesh.zero=2"}), says("mesh.zero=1 or 0"));
  CHECK_THAT(refused({"run.ranks=1", "mesh.zero=2"}),
             says("until its last micro-batch") && says("mesh.zero=1 or 0"));
  for (const char* pp : {"mesh.pp=2", "mesh.pp=1"})
    CHECK_THAT(refused({pp, "mesh.schedule=zb_h1", "model.checkpoint=block"}),
               says("model.checkpoint=none, or mesh.schedule=1f1b"));
  for (const char* schedule : {"interleaved", "zb_v"})
    for (const char* chunks : {"mesh.chunks=1", "mesh.chunks=2"})
      CHECK_THAT(refused({chunks, std::string("mesh.schedule=") + schedule}),
                 says(schedule) && says("mesh.schedule=1f1b and mesh.chunks=1, or mesh.pp=2"));
  const TempFolder folder;
  const ProcessResult even = run_mesh(4, folder / "even", {"mesh.pp=4", "run.fault=imbalance"});
  CHECK(even.code == 2);
  CHECK_THAT(even.err, says("each stage has one"));
  CHECK_THAT(refused({"run.ranks=1", "run.fault=deadlock"}), says("deadlock"));
  for (const auto& [key, hint] : {std::pair{"mesh.schedule=gpipe", "--set mesh.schedule=1f1b"},
                                  std::pair{"train.accumulate=1", "--set train.accumulate=4"}}) {
    const ProcessResult none = run_mesh(2, folder / key, {"mesh.pp=2", "run.fault=deadlock", key});
    CHECK(none.code == 2);
    CHECK_THAT(none.err, says("none do") && says(hint));
  }
}

}  // namespace isobar::test_pipeline_lesson
