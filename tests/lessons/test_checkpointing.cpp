// Lesson 14 as a learner runs it: ways to compute activations again, micro-batches, and their mistakes.
#include <cmath>
#include <map>

#include "lessons/rank_run.h"
#include "lessons/refused.h"
#include "support/says.h"

namespace isobar::test_checkpointing {

namespace fs = std::filesystem;

namespace {

const std::string kLesson = "14_checkpointing";

/// On `ranks` ranks, 6 steps of 8 samples.
ProcessResult train_again(const fs::path& run, const std::vector<std::string>& sets, int ranks = 1) {
  const ProcessResult result = run_ranks(
      ranks, run, with({"train.steps=6", "train.global_batch=8", "data.limit_valid=8"}, sets), {}, kLesson);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  return result;
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

std::map<int, double> losses_of(const std::vector<std::string>& sets, int ranks = 1) {
  const TempFolder folder;
  train_again(folder / "run", sets, ranks);
  return joint_losses(folder / "run");
}

double largest_distance(const std::map<int, double>& a, const std::map<int, double>& b) {
  REQUIRE(a.size() == 6);
  REQUIRE(b.size() == 6);
  double out = 0;
  for (const auto& [step, loss] : a) out = std::max(out, std::fabs(loss - b.at(step)));
  return out;
}

}  // namespace

TEST_CASE("every way of checkpointing ends with the weights of none, with dropout too") {
  for (const char* const dropout : {"model.dropout=0", "model.dropout=0.2"}) {
    const TempFolder folder;
    train_again(folder / "none", {dropout, "model.checkpoint=none"});
    const std::string expected = weights_of(folder / "none");
    int i = 0;
    for (const std::vector<std::string>& way : {std::vector<std::string>{"model.checkpoint=cheap"},
                                                {"model.checkpoint=selective"},
                                                {"model.checkpoint=block", "model.checkpoint_every=3"}}) {
      INFO(dropout << " " << way.front());
      const fs::path run = folder / std::to_string(i++);
      train_again(run, with({dropout}, way));
      CHECK(weights_of(run) == expected);
      CHECK(joint_losses(run) == joint_losses(folder / "none"));
    }
  }
}

TEST_CASE("over ranks too, whatever of the states they share") {
  for (const char* const stage : {"mesh.zero=0", "mesh.zero=3"}) {
    INFO(stage);
    const TempFolder folder;
    train_again(folder / "none", {stage, "model.checkpoint=none"}, 2);
    train_again(folder / "block", {stage, "model.checkpoint_every=2"}, 2);
    CHECK(weights_of(folder / "block") == weights_of(folder / "none"));
  }
}

TEST_CASE("states of lesson 13 lie in groups and in host memory here too") {
  const TempFolder folder;
  train_again(folder / "none", {"mesh.zero=3"}, 2);
  train_again(folder / "host", {"mesh.zero=3", "mesh.offload=optimizer"}, 2);
  CHECK(weights_of(folder / "host") == weights_of(folder / "none"));
  train_again(folder / "groups", {"mesh.zero=3", "mesh.shard=2"}, 4);
  CHECK(largest_distance(joint_losses(folder / "groups"), joint_losses(folder / "none")) <= 1e-5);
  CHECK(of_kind(stream_of(folder / "groups", 0), "step").back()["node_wire_bytes"].as_number() > 0);
}

TEST_CASE("micro-batches are one large batch, and communicate once") {
  const std::map<int, double> whole = losses_of({});
  for (const char* const parts : {"train.accumulate=2", "train.accumulate=8"})
    CHECK(largest_distance(losses_of({parts}), whole) <= 1e-5);
  const TempFolder folder;
  train_again(folder / "one", {}, 2);
  train_again(folder / "four", {"train.accumulate=4"}, 2);
  CHECK(largest_distance(joint_losses(folder / "one"), whole) <= 1e-5);
  CHECK(largest_distance(joint_losses(folder / "four"), whole) <= 1e-5);
  const std::vector<Json> once = of_kind(stream_of(folder / "one", 0), "step"),
                          parts = of_kind(stream_of(folder / "four", 0), "step");
  REQUIRE(parts.size() == once.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const char* const figure : {"samples", "epoch", "comm_calls", "wire_bytes"}) {
      INFO(figure);
      CHECK(parts[i][figure] == once[i][figure]);
    }
  }
}

TEST_CASE("a run of micro-batches and dropout continues to the bit") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  train_again(run, {"train.accumulate=2", "model.dropout=0.2", "train.checkpoint_every=3"});
  const std::string whole = weights_of(run);
  fs::remove_all(run / "checkpoints/step-000006");
  fs::remove(run / "weights.safetensors");
  const ProcessResult resumed = resume_ranks(1, run, {}, kLesson);
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK_THAT(resumed.out, says("after step 3"));
  CHECK(weights_of(run) == whole);
}

TEST_CASE("MFU counts the model's operations, HFU those that are done again too") {
  const TempFolder folder;
  const ProcessResult result = train_again(folder / "block", {});
  CHECK_THAT(result.out, says("MFU") && says(" %, HFU "));
  const Json summary = of_kind(stream_of(folder / "block", 0), "summary").back();
  const Json begin = of_kind(stream_of(folder / "block", 0), "run").back();
  const double model = begin["flops_per_sample"].as_number(),
               redone = begin["redone_flops_per_sample"].as_number();
  CHECK(redone > 0.15 * model);
  CHECK(redone < model / 3);
  CHECK(summary["hfu"].as_number() == Approx(summary["mfu"].as_number() * (1 + redone / model)));
  const ProcessResult none = train_again(folder / "none", {"model.checkpoint=none"});
  CHECK_THAT(none.out, says("MFU") && !says("HFU"));
  CHECK_FALSE(of_kind(stream_of(folder / "none", 0), "summary").back().contains("hfu"));
}

TEST_CASE("a second forward pass with other random numbers trains something else, without a word") {
  const std::vector<std::string> drops = {"model.dropout=0.2"};
  const std::map<int, double> right = losses_of(drops);
  const std::map<int, double> wrong = losses_of(with(drops, {"run.fault=no_rng_restore"}));
  CHECK(right.at(0) == wrong.at(0));  // the first forward pass is right
  CHECK(largest_distance(right, wrong) > 0);
  CHECK_THAT(refusal(kLesson, {"run.fault=no_rng_restore"}), says("--set model.dropout=0.1"));
}

TEST_CASE("a second forward pass in float32 trains nearly the same, in 16 bits only") {
  const std::vector<std::string> half = {"amp.mode=bf16"};
  const double off =
      largest_distance(losses_of(half), losses_of(with(half, {"run.fault=no_autocast_restore"})));
  CHECK(off > 0);
  CHECK(off < 0.02);
  CHECK_THAT(refusal(kLesson, {"amp.mode=none", "run.fault=no_autocast_restore"}),
             says("--set amp.mode=bf16"));
}

TEST_CASE("a second forward pass that is not recorded leaves blocks without gradients") {
  const std::vector<std::string> broken = {"run.fault=checkpoint_under_no_grad"};
  const std::map<int, double> right = losses_of({}), wrong = losses_of(broken);
  CHECK(right.at(0) == wrong.at(0));
  CHECK(wrong.at(5) > right.at(5));  // only norm and head learn
  CHECK_THAT(refusal(kLesson, with(broken, {"model.checkpoint=cheap"})), says("model.checkpoint=block"));
  // Replicas wait for gradients that never come, and name one.
  const TempFolder folder;
  const ProcessResult ranks =
      run_ranks(2, folder / "run",
                with({"train.steps=2", "train.global_batch=8", "data.limit_valid=8"}, broken), {}, kLesson);
  CHECK(ranks.code == 1);
  CHECK_THAT(ranks.err, says("gradient"));
}

TEST_CASE("settings that mean nothing are refused") {
  CHECK_THAT(refusal(kLesson, {"model.checkpoint_every=0"}), says("model.checkpoint_every"));
  CHECK_THAT(refusal(kLesson, {"model.checkpoint_every=5"}), says("the model has 4"));
  CHECK_THAT(refusal(kLesson, {"model.checkpoint=cheap", "model.checkpoint_every=2"}),
             says("and it is cheap") && says("model.checkpoint=block"));
  CHECK_THAT(refusal(kLesson, {"model.dropout=1"}), says("model.dropout"));
  CHECK_THAT(refusal(kLesson, {"train.accumulate=3"}), says("3 backward passes"));
  CHECK_THAT(refusal(kLesson, {"model.checkpoint=all"}), says("selective"));
}

}  // namespace isobar::test_checkpointing
