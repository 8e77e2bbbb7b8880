// Scores of an ensemble against loops in double precision.
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <vector>

#include "samples/sampler.h"
#include "support/catch.h"
#include "support/tolerances.h"
#include "train/evaluate.h"
#include "train/metrics.h"

namespace isobar::test_evaluate {

namespace {

constexpr std::int64_t kMembers = 3, kBatch = 2;

struct MadeUp {
  explicit MadeUp(std::int64_t leads = 1)
      : set(config(), "", "valid", kBatch, {}, leads), loader(set, Sampler::in_order(kBatch, 0, 1), kBatch) {}
  static DataConfig config() {
    DataConfig out;
    out.source = DataSource::synthetic;
    out.grid = {6, 8};
    out.channels = 2;
    return out;
  }
  Dataset set;
  InlineLoader loader;
};

/// [M, B, C, H, W], each at its own distance from the truth.
at::Tensor members_of(const Batch& batch) {
  at::manual_seed(4);
  std::vector<at::Tensor> out;
  for (std::int64_t j = 0; j < kMembers; ++j)
    out.push_back(batch.target + at::randn(batch.target.sizes()) * (0.3 + 0.2 * static_cast<double>(j)));
  return at::stack(out);
}

/// Scores of channel `c`, value by value.
struct ExactScores {
  ExactScores(const at::Tensor& members, const at::Tensor& target, std::int64_t c) {
    const at::Tensor x = members.to(at::kDouble), y = target.to(at::kDouble);
    const at::Tensor weights = latitude_weights(y.size(2)).to(at::kDouble);
    const auto count = static_cast<double>(y.size(2) * y.size(3));
    for (std::int64_t b = 0; b < y.size(0); ++b) {
      double error = 0, variance = 0, score = 0;
      for (std::int64_t i = 0; i < y.size(2); ++i) {
        for (std::int64_t k = 0; k < y.size(3); ++k) {
          const double w = weights[i].item<double>() / count, truth = y[b][c][i][k].item<double>();
          double mean = 0, squares = 0, own = 0, pairs = 0;
          for (std::int64_t j = 0; j < kMembers; ++j) {
            const double one = x[j][b][c][i][k].item<double>();
            mean += one / kMembers;
            own += std::abs(one - truth) / kMembers;
            for (std::int64_t l = 0; l < kMembers; ++l)
              pairs += std::abs(one - x[l][b][c][i][k].item<double>()) / (2 * kMembers * (kMembers - 1));
          }
          for (std::int64_t j = 0; j < kMembers; ++j)
            squares += std::pow(x[j][b][c][i][k].item<double>() - mean, 2) / (kMembers - 1);
          error += w * (mean - truth) * (mean - truth);
          variance += w * squares * (kMembers + 1) / kMembers;
          score += w * (own - pairs);
        }
      }
      rmse += std::sqrt(error) / static_cast<double>(y.size(0));
      spread += std::sqrt(variance) / static_cast<double>(y.size(0));
      crps += score / static_cast<double>(y.size(0));
    }
  }
  double rmse = 0, spread = 0, crps = 0;
};

}  // namespace

TEST_CASE("an ensemble's skill, spread and CRPS are those of its members, channel by channel") {
  MadeUp made;
  at::Tensor members, target;
  const Evaluation scores = evaluate(
      [&](const Batch& batch) {
        target = batch.target;
        return std::vector{members = members_of(batch)};
      },
      made.set, made.loader, at::kCPU);
  REQUIRE(scores.complete);
  CHECK(scores.members == kMembers);
  REQUIRE(scores.channels.size() == 2);
  for (std::int64_t c = 0; c < 2; ++c) {
    const ExactScores exact(members, target, c);
    const ChannelScores& ours = scores.channels[static_cast<std::size_t>(c)];
    CHECK(std::abs(ours.rmse - exact.rmse) <= kScore);
    CHECK(std::abs(ours.spread - exact.spread) <= kScore);
    CHECK(std::abs(ours.crps - exact.crps) <= kScore);
  }
  REQUIRE(scores.fields.sizes() == at::IntArrayRef({4, 2, 6, 8}));
  CHECK(at::equal(scores.fields[2], members.mean(0)[0]));
  const at::Tensor squares = (members - members.mean(0)).square().sum(0)[0] / (kMembers - 1);
  CHECK(difference(scores.fields[3], (squares * (kMembers + 1) / kMembers).sqrt()) <= kScore);
}

TEST_CASE("an ensemble of one has the scores of a forecast, and no spread") {
  MadeUp made;
  const auto forecast = [](const at::Tensor& image) { return image * 0.5; };
  const Evaluation plain = evaluate(forecast, made.set, made.loader, at::kCPU);
  const Evaluation one =
      evaluate([&](const Batch& batch) { return std::vector{forecast(batch.input).unsqueeze(0)}; }, made.set,
               made.loader, at::kCPU);
  CHECK(one.members == 1);
  CHECK(one.headline().rmse == plain.headline().rmse);
  CHECK(one.headline().rmse > 0);
  CHECK(one.headline().spread == 0);
  CHECK(one.headline().crps == 0);
  CHECK(one.fields.size(0) == 3);
  CHECK(at::equal(one.fields, plain.fields));
}

TEST_CASE("a rollout's later forecasts have scores against their own targets") {
  MadeUp made(3);
  Batch seen;
  std::vector<at::Tensor> leads;
  const auto forecasts = [&](const Batch& batch) {
    seen = batch;
    leads.clear();
    for (std::int64_t lead = 1; lead <= 3; ++lead) {
      const at::Tensor one = batch.input * (0.5 * static_cast<double>(lead));
      leads.push_back(at::stack({one, one + 0.25}));
    }
    return leads;
  };
  const Evaluation scores = evaluate(forecasts, made.set, made.loader, at::kCPU);
  REQUIRE(scores.later.size() == 2);
  const at::Tensor weights = latitude_weights(6).view({6, 1});
  for (std::int64_t lead = 2; lead <= 3; ++lead) {
    const at::Tensor target = seen.later[lead - 2].select(1, 0);
    const auto rmse = [&](const at::Tensor& fields) {
      const at::Tensor error = fields.select(1, 0) - target;
      return (error * error * weights).mean({1, 2}).sqrt().mean().item<double>();
    };
    const LeadScores& found = scores.later[static_cast<std::size_t>(lead - 2)];
    CHECK(std::abs(found.rmse - rmse(leads[static_cast<std::size_t>(lead - 1)].mean(0))) <= kScore);
    CHECK(std::abs(found.persistence_rmse - rmse(seen.input)) <= kScore);
    CHECK(found.persistence_rmse > scores.headline().persistence_rmse);
  }
  CHECK(scores.later[0].rmse != scores.later[1].rmse);
}

TEST_CASE("an evaluation that is stopped has no scores") {
  MadeUp made;
  const auto forecasts = [](const Batch& batch) { return std::vector{members_of(batch)}; };
  const Evaluation scores =
      evaluate(forecasts, made.set, made.loader, at::kCPU, [](std::int64_t, std::int64_t) { return false; });
  CHECK_FALSE(scores.complete);
  CHECK(scores.channels.empty());
}

}  // namespace isobar::test_evaluate
