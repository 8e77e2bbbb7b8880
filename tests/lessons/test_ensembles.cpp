// Ensembles of lesson 17 as a learner runs them: what is recorded of members, and what each mistake does to
// it.
#include <cmath>

#include "fields/npy.h"
#include "lessons/compared_runs.h"
#include "record/run_folder.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_ensembles {

namespace fs = std::filesystem;

namespace {

using Sets = std::vector<std::string>;

const Sets kTiny = {"train.steps=4", "train.global_batch=4", "data.limit_valid=8", "model.embed=24",
                    "model.heads=4", "model.depth=2",        "amp.mode=none"};

fs::path trained(const TempFolder& folder, const std::string& name, int ranks, const Sets& sets) {
  const fs::path run = folder / name;
  const ProcessResult result = run_ranks(ranks, run, with(kTiny, sets), {}, "17_groups");
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  for (const std::string& set : sets)
    if (set.starts_with("run.fault=")) CHECK_THAT(result.out, says(set.substr(10)));
  return run;
}

std::vector<Json> evals_of(const fs::path& run) { return of_kind(stream_of(run, 0), "eval"); }

double figure(const fs::path& run, std::size_t step, const char* key) {
  return of_kind(stream_of(run, 0), "step").at(step)[key].as_number();
}

const Sets kTwoModels = {"mesh.gpus_per_ensemble=2"};

}  // namespace

TEST_CASE("members train alike on one rank or several, and their scores are recorded") {
  const TempFolder folder;
  const fs::path alone = trained(folder, "alone", 1, {"mesh.members_per_device=4"});
  const Json scores = evals_of(alone).back();
  CHECK(scores["members"] == 4);
  for (const std::string channel : {"u10m", "t2m"}) {
    CHECK(scores["spread_" + channel].as_number() > 0);
    CHECK(scores["crps_" + channel].as_number() > 0);
    CHECK(scores["crps_" + channel].as_number() < scores["rmse_" + channel].as_number());
  }
  CHECK(read_npy(RunFolder{alone}.fields_file(4)).shape.front() == 4);  // the spread is the fourth map
  const fs::path two = trained(folder, "two", 2, with(kTwoModels, {"mesh.members_per_device=2"}));
  CHECK(apart(joint_losses(two), joint_losses(alone)) <= 1e-5);
  CHECK(difference_of_files(two / "weights.safetensors", alone / "weights.safetensors") < 1e-5);
  for (const char* const key : {"rmse_u10m", "spread_u10m", "crps_u10m", "loss"})
    CHECK(evals_of(two).back()[key].as_number() == Approx(scores[key].as_number()).epsilon(1e-4));
  const fs::path plain = trained(folder, "plain", 1, {"train.rollout=2"});
  CHECK_FALSE(evals_of(plain).back().contains("members"));
  CHECK(read_npy(RunFolder{plain}.fields_file(4)).shape.front() == 3);
}

TEST_CASE("each step counts what an ensemble and read groups sent, beside gradients and split layers") {
  const TempFolder folder;
  const Sets sets = {"mesh.tp=2", "mesh.gpus_per_ensemble=4", "mesh.members_per_device=2",
                     "data.read_group=2"};
  const fs::path run = trained(folder, "run", 4, sets);
  constexpr double kField = 4.0 * 20 * 24 * 48;
  for (int rank = 0; rank < 4; ++rank) {
    for (const Json& step : of_kind(stream_of(run, rank), "step")) {
      CHECK(step["ens_calls"] == 1);
      CHECK(step["ens_wire_bytes"] == 4 * 4 * kField / 2);  // half of four members of four samples
      CHECK(step["read_calls"] == 1);
      CHECK(step["read_wire_bytes"] == 4 * 2 * kField / 2);  // half of four inputs and targets
      const double gradients = step["wire_bytes"].as_number() - step["tp_wire_bytes"].as_number() -
                               step["ens_wire_bytes"].as_number() - step["read_wire_bytes"].as_number();
      CHECK(gradients > 0);
    }
  }
  const fs::path alone = trained(folder, "alone", 1, {"mesh.members_per_device=2"});
  for (const char* const key : {"ens_calls", "read_calls"})
    CHECK_FALSE(of_kind(stream_of(alone, 0), "step").front().contains(key));
}

TEST_CASE("a mistake: all members draw the same noise, and have no spread") {
  const TempFolder folder;
  const Sets sets = with(kTwoModels, {"mesh.members_per_device=2"});
  const fs::path run = trained(folder, "same", 2, with(sets, {"run.fault=same_noise"}));
  for (const Json& scores : evals_of(run)) {
    CHECK(scores["members"] == 4);
    CHECK(scores["spread_u10m"].as_number() <= 1e-6 * scores["rmse_u10m"].as_number());
  }
}

TEST_CASE("a mistake: gradients of an ensemble are too small by the number of its models") {
  const TempFolder folder;
  const Sets sets = with(kTwoModels, {"mesh.members_per_device=2"});
  const fs::path right = trained(folder, "right", 2, sets);
  const fs::path small = trained(folder, "small", 2, with(sets, {"run.fault=ens_gradient_small"}));
  CHECK(figure(small, 0, "loss") == figure(right, 0, "loss"));
  CHECK(figure(small, 0, "grad_norm") == Approx(figure(right, 0, "grad_norm") / 2).epsilon(1e-5));
}

TEST_CASE("a mistake: models of an ensemble read samples of their own, and members of other days differ") {
  const TempFolder folder;
  const fs::path right = trained(folder, "right", 2, kTwoModels);
  const fs::path other = trained(folder, "other", 2, with(kTwoModels, {"run.fault=ens_other_dates"}));
  const Json one = evals_of(right).front(), two = evals_of(other).front();
  CHECK(two["spread_u10m"].as_number() > 2 * one["spread_u10m"].as_number());
  CHECK(std::fabs(figure(other, 0, "loss") - figure(right, 0, "loss")) > 1e-3);
}

TEST_CASE("a mistake: ranks of a model count as members, and the loss is divided by too many") {
  const TempFolder folder;
  const Sets sets = {"mesh.tp=2", "mesh.gpus_per_ensemble=2", "mesh.members_per_device=2"};
  const fs::path right = trained(folder, "right", 2, sets);
  const fs::path wrong = trained(folder, "wrong", 2, with(sets, {"run.fault=ens_members_wrong"}));
  // Half of the error term; of the spread term (1 - 0.05 / 4) / 12 instead of (1 - 0.05 / 2) / 2.
  CHECK(figure(wrong, 0, "loss") < 0.75 * figure(right, 0, "loss"));
  CHECK(figure(wrong, 0, "loss") >= 0.5 * figure(right, 0, "loss"));
  CHECK(evals_of(wrong).front()["members"] == 2);
  CHECK(evals_of(wrong).front()["crps_u10m"].text() == evals_of(right).front()["crps_u10m"].text());
}

}  // namespace isobar::test_ensembles
