// Lesson 06 as a learner runs it: several ranks train as lesson 05 does alone.
#include <algorithm>
#include <cmath>

#include "lessons/rank_run.h"
#include "lessons/resumed_run.h"
#include "support/catch.h"
#include "support/tolerance_values.h"

namespace isobar::test_ddp {

namespace {

const std::vector<std::string> kTen =
    with(coarse(),
         {"train.steps=10", "train.report_every=1", "run.threads=1", "data.limit_valid=8", "amp.mode=none"});

void train_ranks(int ranks, const fs::path& run, const std::vector<std::string>& more) {
  const ProcessResult result = run_ranks(ranks, run, with(with(kTen, {"comm.bucket_mb=0.25"}), more));
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b.at(i)));
  return worst;
}

std::vector<double> of_steps(const fs::path& run, int rank, const char* key) {
  std::vector<double> out;
  for (const Json& step : of_kind(stream_of(run, rank), "step")) out.push_back(step[key].as_number());
  REQUIRE(out.size() == 10);
  return out;
}

/// Of the joint batch, by step: all ranks say the same, which is the mean of their own.
std::vector<double> losses_of_all(const fs::path& run, int ranks) {
  const std::vector<double> losses = of_steps(run, 0, "loss");
  std::vector<double> means(losses.size());
  for (int rank = 0; ranks > 1 && rank < ranks; ++rank) {
    CHECK(of_steps(run, rank, "loss") == losses);
    const std::vector<double> own = of_steps(run, rank, "loss_rank");
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += own[i] / ranks;
  }
  if (ranks > 1) CHECK(apart(means, losses) <= 1e-12);
  return losses;
}

/// Lesson 05 on the joint batch, made once.
const fs::path& alone() {
  static const TempFolder folder;
  static const fs::path run = [] {
    REQUIRE(train_lesson("05_fusion", folder / "run", kTen).code == 0);
    return folder / "run";
  }();
  return run;
}

}  // namespace

TEST_CASE("ranks train as lesson 05 does alone, and score as it does") {
  const TempFolder folder;
  const std::vector<double> expected = losses_of_all(alone(), 1);
  for (const int ranks : {1, 2, 4}) {
    INFO(ranks << " ranks");
    const fs::path run = folder / std::to_string(ranks);
    train_ranks(ranks, run, {"comm.probe=true"});
    CHECK(apart(losses_of_all(run, ranks), expected) <= kLoss);
    const std::vector<Json> scores = of_kind(stream_of(run, 0), "eval");
    const std::vector<Json> exact = of_kind(stream_of(alone(), 0), "eval");
    REQUIRE(scores.size() == exact.size());
    for (const char* const key : {"loss", "rmse_u10m", "persistence_rmse_u10m"}) {
      const auto differ = [&](const Json& one, const Json& other) {
        return std::fabs(one[key].as_number() - other[key].as_number());
      };
      CHECK(differ(scores.front(), exact.front()) <= kScore);
      CHECK(differ(scores.back(), exact.back()) <= kScore);
    }
  }
}

TEST_CASE("in 16 bits each rank rounds its own part, and training stays the same within that") {
  const TempFolder folder;
  const std::vector<std::string> bf16 = {"amp.mode=bf16"};
  REQUIRE(train_lesson("05_fusion", folder / "alone", with(kTen, bf16)).code == 0);
  train_ranks(2, folder / "run", bf16);
  const double most = apart(losses_of_all(folder / "run", 2), of_steps(folder / "alone", 0, "loss"));
  CHECK(most <= kLossBf16);
  CHECK(most > 0);
}

TEST_CASE("every way to average gives the same losses") {
  const TempFolder folder;
  const std::vector<double> expected = losses_of_all(alone(), 1);
  for (const char* const sync : {"at_end", "per_parameter", "reducer"}) {
    INFO(sync);
    train_ranks(2, folder / sync, {std::string("comm.sync=") + sync});
    CHECK(apart(losses_of_all(folder / sync, 2), expected) <= kLossFused);
  }
  train_ranks(2, folder / "none", {"comm.sync=none"});
  CHECK(apart(losses_of_all(folder / "none", 2), expected) > 1e-4);
}

TEST_CASE("shards and mistakes with them show in the losses of the ranks") {
  const TempFolder folder;
  const auto losses_of = [&](const std::string& name, int rank) {
    return of_steps(folder / name, rank, "loss_rank");
  };
  const auto persistence = [](const fs::path& run) {
    return of_kind(stream_of(run, 0), "eval").front()["persistence_rmse_u10m"].as_number();
  };
  train_ranks(2, folder / "same", {"run.fault=same_shard"});
  CHECK(losses_of("same", 0) == losses_of("same", 1));
  CHECK(std::fabs(persistence(folder / "same") - persistence(alone())) <= kScore);  // all samples are scored
  train_ranks(2, folder / "contiguous", {"data.shard=contiguous"});
  CHECK(losses_of("contiguous", 0) != losses_of("contiguous", 1));
  CHECK(apart(losses_of_all(folder / "contiguous", 2), losses_of_all(alone(), 1)) > 1e-4);
  train_ranks(2, folder / "sum", {"run.fault=sum_gradients"});  // Adam hardly sees a factor: its eps does
  const double norm = of_steps(alone(), 0, "grad_norm").front();
  CHECK(of_steps(folder / "sum", 0, "grad_norm").front() == Approx(2 * norm).epsilon(1e-5));
  const std::vector<std::string> linear = {"train.steps=1", "schedule.lr_rule=linear",
                                           "schedule.base_batch=2"};
  train_ranks(2, folder / "linear", linear);
  train_ranks(2, folder / "unscaled", with(linear, {"run.fault=lr_unscaled"}));
  const auto rate = [&](const std::string& name) {
    return of_kind(stream_of(folder / name, 0), "step").front()["lr"].as_number();
  };
  CHECK(rate("linear") == Approx(2 * rate("unscaled")));
}

TEST_CASE("replicas that nobody keeps together tell how far apart they are") {
  const TempFolder folder;
  const auto distances = [&](const std::string& set) {
    train_ranks(2, folder / "run", {set});
    std::vector<double> out;
    for (const Json& note : of_kind(stream_of(folder / "run", 1), "note")) {
      if (note["text"] == "replicas") out.push_back(note["apart"].as_number());
    }
    fs::remove_all(folder / "run");
    REQUIRE(out.size() == 11);
    return out;
  };
  const std::vector<double> other_starts = distances("run.fault=no_broadcast");
  CHECK(other_starts.front() > 0.01);
  CHECK(other_starts.back() == Approx(other_starts.front()).epsilon(0.2));
  const std::vector<double> never = distances("comm.sync=none");
  CHECK(never.front() == 0);
  CHECK(never.back() > 1e-4);
}

TEST_CASE("gradients that overflow on one rank make all ranks skip the same step") {
  const TempFolder folder;
  train_ranks(2, folder / "run", {"amp.mode=fp16", "run.fault=inject_inf", "run.fault_step=4"});
  for (const int rank : {0, 1}) {
    const std::vector<double> skipped = of_steps(folder / "run", rank, "skipped");
    CHECK(skipped[3] == skipped[2]);
    CHECK(skipped[4] == skipped[3] + 1);
    CHECK(skipped[5] == skipped[4]);
    CHECK(std::isfinite(of_steps(folder / "run", rank, "loss").back()));
  }
}

}  // namespace isobar::test_ddp
