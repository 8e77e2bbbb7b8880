// Lesson 17 as a learner runs it: what a model reads, forecasts and minimises does not depend on the groups
// that do it, and groups that cannot be are refused.
#include <cmath>

#include "core/text.h"
#include "lessons/compared_runs.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/pairs.h"

namespace isobar::test_groups_lesson {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "17_groups";

using Sets = std::vector<std::string>;

/// 32 records of 20 channels, 24 x 48; 8 samples a step, and each reads its own fields.
const Sets kTiny = {"train.steps=10", "train.global_batch=8", "data.limit_valid=8",       "model.embed=48",
                    "model.heads=12", "model.depth=2",        "loader.share_fields=false"};
constexpr std::int64_t kFieldBytes = 20 * 24 * 48 * 4;

bool has_every_product() { return std::getenv("ISOBAR_PRODUCTS") != nullptr; }

ProcessResult run_mesh(int ranks, const fs::path& run, const Sets& sets) {
  return run_ranks(ranks, run, with(kTiny, sets), {}, kLesson);
}

std::string train_mesh(int ranks, const fs::path& run, const Sets& sets) {
  const ProcessResult result = run_mesh(ranks, run, sets);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  return result.out;
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

std::vector<Json> steps_of(const fs::path& run, int rank) { return of_kind(stream_of(run, rank), "step"); }

Json last_eval(const fs::path& run, int rank) { return of_kind(stream_of(run, rank), "eval").back(); }

double figure(const fs::path& run, std::size_t step, const char* key) {
  return steps_of(run, 0)[step][key].as_number();
}

/// What `rank` read in all steps; threads that read ahead may have done up to two batches more.
std::int64_t read_bytes(const fs::path& run, int rank) {
  std::int64_t out = 0;
  for (const Json& step : steps_of(run, rank)) out += step["read_bytes"].as_integer();
  return out;
}

/// Ten steps of `run`, beside those of one process.
void check_equal(const fs::path& run, const fs::path& alone, int ranks) {
  INFO(run.filename().string());
  CHECK(joint_losses(run).size() == 10);
  CHECK(apart(joint_losses(run), joint_losses(alone)) <= 1e-5);
  CHECK(difference_of_files(run / "weights.safetensors", alone / "weights.safetensors") < 1e-5);
  CHECK(summary_of(run)["samples"] == 80);  // whatever the mesh
  const Json wanted = last_eval(alone, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const Json found = last_eval(run, rank);
    for (const char* const key : {"loss", "rmse_u10m", "crps_u10m", "spread_u10m", "lead4_rmse_u10m",
                                  "lead4_persistence_rmse_u10m"}) {
      REQUIRE(found.contains(key) == wanted.contains(key));
      if (wanted.contains(key)) CHECK(std::fabs(found[key].as_number() - wanted[key].as_number()) <= 1e-5);
    }
  }
}

}  // namespace

TEST_CASE("weights are the same bits whoever reads together, and each reads its part of the bytes") {
  const TempFolder folder;
  std::vector<std::int64_t> sent;
  for (const int group : {1, 2, 4}) {
    const fs::path run = folder / std::to_string(group);
    const std::string out = train_mesh(
        4, run, {"mesh.gpus_per_model=4", "data.read_group=" + std::to_string(group), "loader.slots=2"});
    CHECK_THAT(out, says(group > 1 ? counted(group, "rank") + " read together" : "field by field"));
    CHECK(weights_of(run) == weights_of(folder / "1"));
    CHECK(joint_losses(run) == joint_losses(folder / "1"));
    CHECK(last_eval(run, 0)["rmse_u10m"] == last_eval(folder / "1", 0)["rmse_u10m"]);
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(read_bytes(run, rank) >= 10 * 16 * kFieldBytes / group);
      CHECK(read_bytes(run, rank) <= 12 * 16 * kFieldBytes / group);
    }
    sent.push_back(steps_of(run, 2).back()["wire_bytes"].as_integer());
  }
  CHECK(sent[1] - sent[0] == 16 * kFieldBytes / 2);
  CHECK(sent[2] - sent[0] == 16 * kFieldBytes * 3 / 4);
}

TEST_CASE("fields that are read whole first cost as many bytes as without a group, and change nothing else") {
  const TempFolder folder;
  const Sets two = {"mesh.gpus_per_model=2", "data.read_group=2", "loader.slots=2", "train.steps=3"};
  train_mesh(2, folder / "right", two);
  const std::string out = train_mesh(2, folder / "all", with(two, {"run.fault=read_all"}));
  CHECK_THAT(out, says("read_all"));
  CHECK(weights_of(folder / "all") == weights_of(folder / "right"));
  CHECK(read_bytes(folder / "right", 1) <= 5 * 8 * kFieldBytes);
  CHECK(read_bytes(folder / "all", 1) >= 3 * 16 * kFieldBytes);
}

TEST_CASE("a rollout of four forecasts trains as in one process, whatever shares it") {
  const TempFolder folder;
  const Sets four = {"train.rollout=4"};
  train_mesh(1, folder / "alone", four);
  const auto check = [&](const std::string& name, int ranks, const Sets& sets) {
    train_mesh(ranks, folder / name, with(four, sets));
    check_equal(folder / name, folder / "alone", ranks);
  };
  check("together", 2, {"mesh.gpus_per_model=2", "data.read_group=2"});
  const Json scores = last_eval(folder / "alone", 0);
  CHECK(scores["lead4_rmse_u10m"] != scores["rmse_u10m"]);
  CHECK(scores["lead4_persistence_rmse_u10m"].as_number() > scores["persistence_rmse_u10m"].as_number());
  const double all_forecasts =
      of_kind(stream_of(folder / "alone", 0), "run").back()["flops_per_sample"].as_number();
  train_mesh(1, folder / "one", {"train.steps=1"});  // the first of the four forecasts alone
  CHECK(figure(folder / "alone", 0, "loss") > figure(folder / "one", 0, "loss"));
  const double first = of_kind(stream_of(folder / "one", 0), "run").back()["flops_per_sample"].as_number();
  CHECK(all_forecasts > 4 * first);  // the gradient of what the patches see comes on top
  CHECK(all_forecasts < 5 * first);
  if (!has_every_product()) return;
  check("replicas", 2, {});
  check("layers", 4, {"mesh.gpus_per_model=4", "mesh.tp=2", "data.read_group=4"});
  check("checkpoints", 2, {"model.checkpoint=block"});
  check("micro", 2, {"train.accumulate=2", "mesh.zero=1"});
}

TEST_CASE("ensembles of models train as one process with all members does") {
  const TempFolder folder;
  const Sets members = {"mesh.members_per_device=4"};
  train_mesh(1, folder / "alone", members);
  CHECK(last_eval(folder / "alone", 0)["members"] == 4);
  const auto check = [&](const std::string& name, int ranks, const Sets& sets) {
    const std::string out = train_mesh(ranks, folder / name, sets);
    INFO(out);
    check_equal(folder / name, folder / "alone", ranks);
    CHECK(last_eval(folder / name, ranks - 1)["members"] == 4);
  };
  // 2 ranks a model, 2 models an ensemble, 2 ensembles.
  const Sets eight = {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=4", "mesh.members_per_device=2"};
  check("eight", 8, with(eight, {"data.read_group=2", "mesh.zero=1"}));
  if (!has_every_product()) return;
  check("ensemble", 2, {"mesh.gpus_per_ensemble=2", "mesh.members_per_device=2"});
  check("replicas", 2, members);
  check("layers", 8, with(eight, {"mesh.tp=2", "data.read_group=2"}));
  check("stages", 8, with(eight, {"mesh.pp=2", "train.accumulate=2", "data.read_group=2"}));
  check("one-each", 4, {"mesh.gpus_per_ensemble=4"});
}

TEST_CASE("an ensemble continues to the same bits, with other readers too") {
  const TempFolder folder;
  const fs::path whole = folder / "whole";
  train_mesh(4, whole,
             {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=4", "data.read_group=2", "train.rollout=2",
              "train.steps=4", "train.checkpoint_every=2"});
  for (const std::string readers : {"2", "1"}) {
    INFO(readers);
    const fs::path run = folder / readers;
    fs::copy(whole, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000004");
    fs::remove(run / "weights.safetensors");
    const ProcessResult result = resume_ranks(4, run, {"data.read_group=" + readers}, kLesson);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("after step 2"));
    CHECK(weights_of(run) == weights_of(whole));
    CHECK(joint_losses(run) == joint_losses(whole));
  }
  const ProcessResult more = resume_ranks(4, whole, {"mesh.members_per_device=2"}, kLesson);
  CHECK(more.code == 2);
  CHECK_THAT(more.err, says("an ensemble has 2 members in the run that is resumed and cannot have 4"));
}

TEST_CASE("the mistakes of ensembles are reported, and show in figures") {
  const TempFolder folder;
  const Sets few = {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=4", "train.steps=3",
                    "train.global_batch=4"};
  train_mesh(4, folder / "right", few);
  const auto made = [&](const std::string& fault) {
    const std::string out = train_mesh(4, folder / fault, with(few, {"run.fault=" + fault}));
    CHECK_THAT(out, says(fault));
    return folder / fault;
  };
  const double loss = figure(folder / "right", 0, "loss"), norm = figure(folder / "right", 0, "grad_norm");
  const fs::path small = made("ens_gradient_small");  // two models: half of each member's part
  CHECK(figure(small, 0, "loss") == Approx(loss).epsilon(1e-6));
  CHECK(figure(small, 0, "grad_norm") == Approx(norm / 2).epsilon(1e-4));
  const fs::path dates = made("ens_other_dates");  // members of one sample forecast two
  const auto spread = [](const fs::path& run) { return last_eval(run, 0)["spread_u10m"].as_number(); };
  CHECK(spread(dates) > 2 * spread(folder / "right"));
  CHECK(std::fabs(figure(dates, 0, "loss") - loss) > 1e-3);
  const fs::path noise = made("same_noise");
  CHECK(spread(noise) <= 1e-6);
  CHECK(spread(folder / "right") > 1e-4);
  const fs::path members = made("ens_members_wrong");  // four are counted, and there are two
  CHECK(last_eval(folder / "right", 0)["members"] == 2);
  CHECK(std::fabs(figure(members, 0, "loss") - loss) > 1e-5);
}

TEST_CASE("groups and rollouts that fit nothing end with exit code 2, and what would fit") {
  const auto refused = [](int ranks, const Sets& sets) {
    return refusal(kLesson,
                   with({"run.ranks=" + std::to_string(ranks), "model.embed=48", "model.heads=12"}, sets));
  };
  CHECK_THAT(refused(8, {"mesh.gpus_per_model=3"}), says("8 ranks cannot form models of 3 ranks"));
  CHECK_THAT(refused(4, {"mesh.gpus_per_model=4", "data.read_group=3"}),
             says("4 ranks of a model cannot form groups of 3") && says("a data.read_group of 1, 2 or 4"));
  CHECK_THAT(refused(5, {"mesh.gpus_per_model=5", "data.read_group=5"}),
             says("the 48 rows of a field are no 5 bands") && says("a data.read_group of 1"));
  CHECK_THAT(refused(4, {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=3"}),
             says("no whole number of models of 2 ranks") && says("2 or 4"));
  CHECK_THAT(refused(6, {"mesh.gpus_per_ensemble=4"}),
             says("6 / 4 ranks an ensemble is no whole number of replicas"));
  CHECK_THAT(refused(2, {"mesh.pp=2", "train.rollout=2"}), says("mesh.pp=1, or train.rollout=1"));
  CHECK_THAT(refused(1, {"train.rollout=15"}),
             says("a year of 16 records") && says("15 forecasts") && says("train.rollout=14 at most"));
  CHECK_THAT(refused(1, {"train.rollout=8", "data.dt=4"}), says("train.rollout=2 at most"));
  const TempFolder folder;
  const ProcessResult none = run_mesh(2, folder / "none", {"run.fault=same_noise"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, says("a sample has one"));
  const ProcessResult alone = run_mesh(2, folder / "alone", {"run.fault=read_all"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, says("data.read_group is 1"));
}

TEST_CASE("an ensemble continues on another mesh, with as many members") {
  const TempFolder folder;
  const fs::path whole = folder / "whole";  // two members: two models of one ensemble
  train_mesh(
      4, whole,
      {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=4", "train.steps=4", "train.checkpoint_every=2"});
  const auto again = [&](const std::string& name, int ranks, const Sets& sets) {
    INFO(name);
    const fs::path run = folder / name;
    fs::copy(whole, run, fs::copy_options::recursive);
    fs::remove_all(run / "checkpoints/step-000004");
    fs::remove(run / "weights.safetensors");
    const ProcessResult result = resume_ranks(ranks, run, sets, kLesson);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("after step 2"));
    CHECK(apart(joint_losses(run), joint_losses(whole)) <= 1e-5);
    CHECK(difference_of_files(run / "weights.safetensors", whole / "weights.safetensors") < 1e-5);
    CHECK(last_eval(run, 0)["members"] == 2);
  };
  // One model on all ranks has both of them; mesh.cp follows.
  again("four", 4, {"mesh.gpus_per_model=4", "mesh.members_per_device=2", "data.read_group=4"});
  const ProcessResult fewer =
      resume_ranks(2, whole, {"mesh.gpus_per_model=1", "mesh.gpus_per_ensemble=1"}, kLesson);
  CHECK(fewer.code == 2);
  CHECK_THAT(fewer.err, says("an ensemble has 2 members in the run that is resumed and cannot have 1"));
  if (!has_every_product()) return;
  again("alone", 1, {"mesh.gpus_per_model=1", "mesh.gpus_per_ensemble=1", "mesh.members_per_device=2"});
  again("layers", 4, {"mesh.tp=2", "data.read_group=2"});
  again("ensembles", 4, {"mesh.gpus_per_model=1", "mesh.gpus_per_ensemble=2"});
}

}  // namespace isobar::test_groups_lesson
