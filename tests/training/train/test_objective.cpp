// Losses of ensembles and rollouts in one process, against loops in double precision and the plain model.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/round.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.h"
#include "support/errors.h"
#include "support/live_bytes.h"
#include "support/made_fault.h"
#include "support/says.h"
#include "support/small_vit.h"
#include "support/tolerances.h"
#include "train/member_noise.h"
#include "train/objective.h"

namespace isobar::test_objective {

namespace {

/// The formula as it stands (train/objective.h), for the members of one value: the score, and its derivative
/// by each of them.
struct ExactCrps {
  ExactCrps(const std::vector<double>& x, double y, double alpha) : slopes(x.size()) {
    const auto m = static_cast<double>(x.size());
    const double factor = (1 - (1 - alpha) / m) / (2 * m * (m - 1));
    const auto sign = [](double of) { return of > 0 ? 1.0 : of < 0 ? -1.0 : 0.0; };
    for (std::size_t j = 0; j < x.size(); ++j) {
      score += std::abs(x[j] - y) / m;
      slopes[j] += sign(x[j] - y) / m;
      for (std::size_t k = 0; k < x.size(); ++k) {
        score -= factor * std::abs(x[j] - x[k]);
        slopes[j] -= 2 * factor * sign(x[j] - x[k]);
      }
    }
  }
  double score = 0;
  std::vector<double> slopes;
};

std::vector<double> members_at(const at::Tensor& forecasts, std::int64_t value) {
  std::vector<double> out;
  for (std::int64_t j = 0; j < forecasts.size(0); ++j)
    out.push_back(forecasts[j].flatten()[value].item<double>());
  return out;
}

double crps(std::vector<double> members, double truth, double alpha) {
  const at::Tensor x = at::zeros({std::ssize(members), 1}, at::kDouble);
  for (std::int64_t j = 0; j < std::ssize(members); ++j) x[j] = members[static_cast<std::size_t>(j)];
  return almost_fair_crps(x, at::zeros({1}, at::kDouble).fill_(truth), alpha).item<double>();
}

Config config_of(std::int64_t members, std::int64_t rollout = 1) {
  Config out;
  out.train.seed = 5;
  out.mesh.members_per_device = members;
  out.train.rollout = rollout;
  return out;
}

Batch batch_of(std::int64_t samples, std::int64_t rollout = 1) {
  Batch out{.input = made_up_fields(kOddVit, samples, 1), .target = made_up_fields(kOddVit, samples, 2)};
  std::vector<at::Tensor> later;
  for (std::int64_t lead = 1; lead < rollout; ++lead)
    later.push_back(made_up_fields(kOddVit, samples, 2 + static_cast<std::uint64_t>(lead)));
  if (rollout > 1) out.later = at::stack(later);
  for (std::int64_t i = 0; i < samples; ++i) out.samples.push_back(10 + 3 * i);
  return out;
}

std::vector<float> noise(const NoisePlace& place, std::int64_t n = 999, double deviation = 1) {
  std::vector<float> out(static_cast<std::size_t>(n));
  fill_with_noise(place, deviation, out.data(), n);
  return out;
}

void check_gradients(const Parameters& ours, const Parameters& exact, double tolerance) {
  const double floor = kGradientFloor * largest(exact.gradients());
  for (const Parameter& one : exact.all()) {
    INFO(one.name);
    const bool is_key = one.name.find("attn.k.bias") != std::string::npos;  // its true gradient is zero
    const double scale = is_key ? largest(exact.gradients()) : std::max(largest(one.tensor.grad()), floor);
    CHECK(difference(ours.find(one.name).tensor.grad(), one.tensor.grad()) <= tolerance * scale);
  }
}

}  // namespace

TEST_CASE("almost fair CRPS and its gradient are those of the formula in double precision") {
  for (const std::int64_t members : {2, 3, 4, 8}) {
    for (const double alpha : {0.0, 0.95, 1.0}) {
      for (const bool ties : {false, true}) {
        INFO(members << " members, alpha " << alpha << (ties ? ", with equal values" : ""));
        at::manual_seed(static_cast<std::uint64_t>(members));
        at::Tensor x = at::randn({members, 5, 7}, at::kDouble), y = at::randn({5, 7}, at::kDouble);
        if (ties) x = x.mul_(2).round_(), y = y.mul_(2).round_();
        x.requires_grad_(true);
        const at::Tensor loss = almost_fair_crps(x, y, alpha);
        loss.backward();
        double expected = 0;
        for (std::int64_t value = 0; value < y.numel(); ++value) {
          const ExactCrps exact(members_at(x, value), y.flatten()[value].item<double>(), alpha);
          expected += exact.score / static_cast<double>(y.numel());
          const std::vector<double> slopes = members_at(x.grad(), value);
          for (std::size_t j = 0; j < slopes.size(); ++j)
            CHECK(std::abs(slopes[j] - exact.slopes[j] / static_cast<double>(y.numel())) <= 1e-12);
        }
        CHECK(std::abs(loss.item<double>() - expected) <= 1e-12);
      }
    }
  }
}

TEST_CASE("the gradient of a CRPS is what small changes of a member do") {
  at::manual_seed(9);
  at::Tensor x = at::randn({4, 6}, at::kDouble);
  const at::Tensor y = at::randn({6}, at::kDouble);
  x.requires_grad_(true);
  almost_fair_crps(x, y, 0.95).mul(3).backward();
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t value = 0; value < 6; ++value) {
      constexpr double kChange = 1e-6;
      const auto changed = [&](double by) {
        const at::Tensor other = x.detach().clone();
        other[j][value] += by;
        return 3 * almost_fair_crps(other, y, 0.95).item<double>();
      };
      const double slope = (changed(kChange) - changed(-kChange)) / (2 * kChange);
      CHECK(std::abs(x.grad()[j][value].item<double>() - slope) <= 1e-8);
    }
  }
}

TEST_CASE("a CRPS of two members by hand; the fair one does not reward what has no spread") {
  CHECK(crps({0, 2}, 1, 1) == 0);     // (1 + 1) / 2 - 2 |0 - 2| / 4
  CHECK(crps({0, 2}, 1, 0) == 0.5);   // ... - 2 |0 - 2| / 8
  CHECK(crps({3, 3}, 1, 1) == 2);     // the error
  CHECK(crps({0, 2, 4}, 2, 1) == 0);  // 4 / 3 - 2 (2 + 4 + 2) / 12
  CHECK(crps({1, 1, 1}, 1, 0.5) == 0);
}

TEST_CASE("a CRPS needs a few times the memory of the forecasts, not that of all pairs") {
  at::manual_seed(1);
  constexpr std::int64_t kMembers = 16;
  at::Tensor x = at::randn({kMembers, 4096});
  const at::Tensor y = at::randn({4096});
  x.requires_grad_(true);
  const LiveBytes bytes;
  almost_fair_crps(x, y, 0.95).backward();
  CHECK(bytes.most() <= 3 * kMembers * 4096 * 4);
  CHECK(bytes.most() >= kMembers * 4096 * 4);  // the gradient itself: it was counted
}

TEST_CASE("CRPS refuses one member, and shapes that do not fit") {
  const at::Tensor x = at::zeros({1, 3}), three = at::zeros({3, 3}), four = at::zeros({4});
  CHECK_THAT(failure_of([&] { almost_fair_crps(x, x[0], 1); }), Says("a CRPS of 1 member"));
  CHECK_THAT(failure_of([&] { almost_fair_crps(three, four, 1); }),
             Says("forecasts [3, 3] and a target [4]"));
}

TEST_CASE("noise is normal, and each part of its place changes it") {
  const NoisePlace place{.seed = 1, .epoch = 2, .sample = 3, .member = 4, .lead = 5};
  const std::vector<float> all = noise(place, 100001, 0.5);
  double sum = 0, squares = 0, cubes = 0, tail = 0, neighbours = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double z = all[i] / 0.5;
    sum += z, squares += z * z, cubes += z * z * z, tail += std::abs(z) > 1.959964;
    if (i > 0) neighbours += z * all[i - 1] / 0.5;
  }
  const auto n = static_cast<double>(all.size());
  const double deviation = 1 / std::sqrt(n);
  CHECK(std::abs(sum / n) <= 4 * deviation);
  CHECK(std::abs(squares / n - 1) <= 4 * std::sqrt(2) * deviation);
  CHECK(std::abs(cubes / n) <= 4 * std::sqrt(15) * deviation);
  CHECK(std::abs(neighbours / n) <= 4 * deviation);
  CHECK(std::abs(tail / n - 0.05) <= 4 * std::sqrt(0.05 * 0.95) * deviation);

  const std::vector<float> usual = noise(place);
  CHECK(noise(place) == usual);
  for (const auto part :
       {&NoisePlace::seed, &NoisePlace::epoch, &NoisePlace::sample, &NoisePlace::member, &NoisePlace::lead}) {
    NoisePlace other = place;
    other.*part += 1;
    double product = 0;
    const std::vector<float> changed = noise(other);
    for (std::size_t i = 0; i < usual.size(); ++i) product += static_cast<double>(usual[i]) * changed[i];
    CHECK(std::abs(product / static_cast<double>(usual.size())) <= 4 / std::sqrt(999.0));
  }
  NoisePlace swapped = place;
  std::swap(swapped.sample, swapped.member);
  CHECK(noise(swapped) != usual);
  CHECK(noise(place, 998) == std::vector<float>(usual.begin(), usual.end() - 1));
}

TEST_CASE("noise does not depend on threads") {
  const std::vector<float> alone = noise({.seed = 3}, 200001);
  at::set_num_threads(2);
  const std::vector<float> of_two = noise({.seed = 3}, 200001);
  at::set_num_threads(1);
  CHECK(alone == of_two);
}

TEST_CASE("members of a sample lie side by side, and a sample's noise is its own in any batch") {
  Comm alone;
  const Config config = config_of(3);
  const Objective objective(alone, config);
  CHECK_FALSE(objective.is_plain());
  CHECK(objective.members() == 3);
  CHECK(objective.members_here() == 3);
  const Batch both = batch_of(2);
  const at::Tensor images = objective.inputs(both);
  REQUIRE(images.size(0) == 6);
  const at::Tensor deviations = images.view({2, 3, -1}) - both.input.view({2, 1, -1});
  CHECK(std::abs(deviations.std().item<double>() / config.train.member_noise - 1) < 0.1);
  for (const auto& [sample, member, other, other_member] :
       {std::array{0, 0, 0, 1}, std::array{0, 0, 1, 0}, std::array{1, 1, 1, 2}})
    CHECK_FALSE(at::equal(deviations[sample][member], deviations[other][other_member]));

  Batch second{.input = both.input.narrow(0, 1, 1), .target = both.target.narrow(0, 1, 1)};
  second.samples = {both.samples[1]};
  CHECK(at::equal(objective.inputs(second), images.narrow(0, 3, 3)));
  second.epoch = 1;
  CHECK_FALSE(at::equal(objective.inputs(second), images.narrow(0, 3, 3)));
}

TEST_CASE("a mistake: all members draw the same noise, and have no spread") {
  Comm alone;
  const Objective objective(alone, config_of(3));
  const Batch batch = batch_of(2);
  const at::Tensor right = objective.all_members(objective.inputs(batch));
  CHECK(right.std(0).min().item<double>() > 0);
  const MadeFault fault({.fault = Fault::same_noise});
  const at::Tensor all = objective.all_members(objective.inputs(batch));
  CHECK(all.std(0).max().item<double>() == 0);
  CHECK(at::equal(all[0], right[0]));
}

TEST_CASE("an ensemble's loss is the CRPS of the forecasts of its members") {
  Comm alone;
  const Objective objective(alone, config_of(4));
  const Batch batch = batch_of(2);
  FusedModel model(kOddVit, {});
  spread(model.parameters);
  model.parameters.zero_gradients();
  const at::Tensor loss = objective.loss(model.vit, batch);
  loss.backward();

  PlainModel plain(kOddVit);
  spread(plain.parameters);
  plain.parameters.zero_gradients();
  const at::Tensor images = objective.inputs(batch);
  std::vector<at::Tensor> members;
  for (std::int64_t j = 0; j < 4; ++j) members.push_back(plain.vit(images.slice(0, j, 8, 4)));
  const at::Tensor all = at::stack(members);
  at::Tensor exact = (all - batch.target).abs().sum(0) / 4;
  for (int j = 0; j < 4; ++j)
    for (int k = 0; k < 4; ++k) exact = exact - (1 - 0.05 / 4) / 24 * (all[j] - all[k]).abs();
  exact.mean().backward();
  CHECK(std::abs(loss.item<double>() - exact.mean().item<double>()) <= kLoss);
  check_gradients(model.parameters, plain.parameters, kGradient);
  CHECK(at::equal(objective.loss_of(model.vit(images), batch), loss));
}

TEST_CASE("a rollout's loss and gradient are those of the forecasts written one behind the other") {
  Comm alone;
  const Objective objective(alone, config_of(1, 4));
  const Batch batch = batch_of(2, 4);
  CHECK(at::equal(objective.inputs(batch), batch.input));
  PlainModel plain(kOddVit);
  plain.parameters.zero_gradients();
  at::Tensor state = batch.input, sum = at::zeros({});
  for (std::int64_t lead = 0; lead < 4; ++lead) {
    state = plain.vit(state);
    sum = sum + relative_l2(state, lead == 0 ? batch.target : batch.later[lead - 1]) / 4;
  }
  sum.backward();
  const auto check = [&](const FusionConfig& fusion, CheckpointKind kind) {
    FusedModel model(kOddVit, fusion);
    model.vit.checkpoint(kind);
    model.parameters.zero_gradients();
    const at::Tensor loss = objective.loss(model.vit, batch);
    loss.backward();
    CHECK(std::abs(loss.item<double>() - sum.item<double>()) <= 1e-6);
    check_gradients(model.parameters, plain.parameters, 1e-6);
  };
  for (const auto& [name, fusion] : model_fusions()) {
    INFO(name);
    check(fusion, CheckpointKind::none);
  }
  for (const CheckpointKind kind :
       {CheckpointKind::cheap, CheckpointKind::selective, CheckpointKind::block}) {
    INFO(name_of(kind));
    check({}, kind);
  }
}

TEST_CASE("members of a rollout get new noise with each forecast") {
  Comm alone;
  Config config = config_of(2, 2);
  const Objective objective(alone, config);
  const Batch batch = batch_of(1, 2);
  FusedModel model(kOddVit, {});
  const at::Tensor first = model.vit(objective.inputs(batch));
  at::Tensor second = first.clone();
  for (std::int64_t member = 0; member < 2; ++member) {
    const std::vector<float> added = noise({.seed = 5, .sample = 10, .member = member, .lead = 1},
                                           first[0].numel(), config.train.member_noise);
    for (std::int64_t i = 0; i < first[0].numel(); ++i)
      second[member].view({-1})[i] += added[static_cast<std::size_t>(i)];
  }
  const at::Tensor expected = (almost_fair_crps(first.unsqueeze(1), batch.target, 0.95) +
                               almost_fair_crps(model.vit(second).unsqueeze(1), batch.later[0], 0.95)) /
                              2;
  CHECK(std::abs(objective.loss(model.vit, batch).item<double>() - expected.item<double>()) <= kLoss);
}

TEST_CASE("one forecast of one member is the model's own loss, to the bit") {
  Comm alone;
  const Batch batch = batch_of(2);
  FusedModel model(kOddVit, {});
  for (const Objective& objective : {Objective(), Objective(alone, config_of(1))}) {
    CHECK(objective.is_plain());
    CHECK(objective.members() == 1);
    CHECK(at::equal(objective.inputs(batch), batch.input));
    CHECK(at::equal(objective.loss(model.vit, batch), model.vit.loss(batch.input, batch.target)));
  }
}

TEST_CASE("a batch that lacks what an objective needs is refused") {
  Comm alone;
  FusedModel model(kOddVit, {});
  CHECK_THAT(failure_of([&] { Objective(alone, config_of(1, 3)).loss(model.vit, batch_of(1, 2)); }),
             Says("a batch has 2 targets") && Says("3, one for each forecast"));
  Batch batch = batch_of(2);
  batch.samples.pop_back();
  CHECK_THAT(failure_of([&] { Objective(alone, config_of(2)).inputs(batch); }),
             Says("2 images of 1 sample number"));
}

}  // namespace isobar::test_objective
