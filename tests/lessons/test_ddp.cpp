// Lesson 06 as a learner runs it: several ranks train as lesson 05 does alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "launch/rank_launcher.h"
#include "lessons/resumed_run.h"
#include "support/rank_scenarios.h"
#include "support/tolerance_values.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

const std::vector<std::string> kTen = {"train.steps=10",     "train.report_every=1", "run.threads=1",
                                       "data.limit_valid=8", "amp.mode=none",        "comm.bucket_mb=0.25"};

std::vector<json> stream_of(const fs::path& run, int rank) {
  std::istringstream text(read_text_file(run / ("rank-000" + std::to_string(rank) + ".jsonl"), 100'000'000));
  std::vector<json> out;
  for (std::string line; std::getline(text, line);) out.push_back(json::parse(line));
  return out;
}

void train_ranks(int ranks, const fs::path& run, const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      bin_folder(ISOBAR_BIN) + "/06_ddp", "--preset", "cpu_micro", "--run-dir", run.string(), "--set",
      "data.root=" + data().string()};
  for (const std::string& set : with(kTen, more)) words.insert(words.end(), {"--set", set});
  const RanksEnded ended =
      launch_ranks(words, ranks, {.quiet = true, .deadline_s = 200, .grace_s = 5, .tick = {}});
  INFO(said(ended));
  REQUIRE(ended.code == 0);
}

/// Means over ranks, by step.
std::vector<double> joint_losses(const fs::path& run, int ranks) {
  std::vector<double> out(10);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<json> steps = of_kind(stream_of(run, rank), "step");
    REQUIRE(steps.size() == out.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += steps[i]["loss"].get<double>() / ranks;
  }
  return out;
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b.at(i)));
  return worst;
}

/// Lesson 05 on the joint batch, made once.
const fs::path& alone() {
  static const TempFolder folder;
  static const fs::path run = [] {
    std::vector<std::string> sets = kTen;
    sets.pop_back();
    REQUIRE(train_lesson("05_fusion", folder / "run", sets).code == 0);
    return folder / "run";
  }();
  return run;
}

}  // namespace

TEST_CASE("ranks train as lesson 05 does alone, and score as it does") {
  const TempFolder folder;
  const std::vector<double> expected = joint_losses(alone(), 1);
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks << " ranks");
    const fs::path run = folder / std::to_string(ranks);
    train_ranks(ranks, run, {});
    CHECK(apart(joint_losses(run, ranks), expected) <= kLossFused);
    const json before = of_kind(stream_of(run, 0), "eval").front();
    const json exact = of_kind(stream_of(alone(), 0), "eval").front();
    for (const char* const key : {"loss", "rmse_u10m", "persistence_rmse_u10m"})
      CHECK(std::fabs(before[key].get<double>() - exact[key].get<double>()) <= kScore);
  }
}

TEST_CASE("micro-batches and every way to average give the same losses") {
  const TempFolder folder;
  const std::vector<double> expected = joint_losses(alone(), 1);
  train_ranks(2, folder / "micro", {"train.accumulate=2"});
  CHECK(apart(joint_losses(folder / "micro", 2), expected) <= kLossFused);
  for (const char* const sync : {"at_end", "per_parameter", "reducer"}) {
    INFO(sync);
    train_ranks(2, folder / sync, {std::string("comm.sync=") + sync});
    CHECK(apart(joint_losses(folder / sync, 2), expected) <= kLossFused);
  }
  train_ranks(2, folder / "none", {"comm.sync=none"});
  CHECK(apart(joint_losses(folder / "none", 2), expected) > 1e-4);
}

TEST_CASE("shards and mistakes with them show in the losses of the ranks") {
  const TempFolder folder;
  const auto losses_of = [&](const std::string& name, int rank) {
    std::vector<double> out;
    for (const json& step : of_kind(stream_of(folder / name, rank), "step")) out.push_back(step["loss_rank"]);
    return out;
  };
  train_ranks(2, folder / "same", {"run.fault=same_shard"});
  CHECK(losses_of("same", 0) == losses_of("same", 1));
  train_ranks(2, folder / "contiguous", {"data.shard=contiguous"});
  CHECK(losses_of("contiguous", 0) != losses_of("contiguous", 1));
  CHECK(apart(joint_losses(folder / "contiguous", 2), joint_losses(alone(), 1)) > 1e-4);
  train_ranks(2, folder / "sum", {"run.fault=sum_gradients"});  // Adam hardly sees a factor: its eps does
  train_ranks(2, folder / "linear", {"schedule.lr_rule=linear", "schedule.base_batch=2"});
  train_ranks(2, folder / "unscaled",
              {"schedule.lr_rule=linear", "schedule.base_batch=2", "run.fault=lr_unscaled"});
  const auto rate = [&](const std::string& name) {
    return of_kind(stream_of(folder / name, 0), "step").front()["lr"].get<double>();
  };
  CHECK(rate("linear") == Approx(2 * rate("unscaled")));
}
