// The fused model against the plain one: forecast, loss and every gradient, for each fusion alone and all
// together, in all types; and training with either.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <cmath>

#include "support/catch.h"
#include "support/small_vit.h"
#include "support/temp_folder.h"
#include "support/tolerances.h"
#include "train/adam.h"
#include "train/schedule.h"
#include "train/weights.h"

namespace isobar::test_fused_vit {

namespace {

struct Fields {
  at::Tensor image = made_up_fields(kOddVit, 3, 1);
  at::Tensor target = made_up_fields(kOddVit, 3, 2);
};

bool is_key_bias(const std::string& name) { return name.find("attn.k.bias") != std::string::npos; }

/// What such a bias adds to all tokens alike, every norm over the batch takes away: its true gradient is
/// zero.
bool is_taken_away(const Parameters& parameters, const std::string& name) {
  const bool adds_to_all =
      name.ends_with("proj.bias") || name.ends_with("fc2.bias") || name.ends_with("attn.v.bias");
  return adds_to_all && !parameters.buffers().empty();
}

/// Largest difference of gradients, as a share of the tensor's largest or of a floor of the model's; biases
/// whose true gradient is zero are left out.
double gradient_error(const Parameters& ours, const Parameters& reference) {
  double worst = 0;
  const double floor = 1e-2 * largest(reference.gradients());
  for (std::size_t i = 0; i < ours.all().size(); ++i) {
    const Parameter& parameter = reference.all()[i];
    if (is_key_bias(parameter.name) || is_taken_away(reference, parameter.name)) continue;
    const at::Tensor& exact = parameter.tensor.grad();
    worst = std::max(worst, difference(ours.all()[i].tensor.grad(), exact) / std::max(largest(exact), floor));
  }
  return worst;
}

}  // namespace

TEST_CASE("each fusion alone and all together give the plain model's loss, forecast and gradients") {
  const Fields fields;
  PlainModel plain(kOddVit);
  spread(plain.parameters);
  const at::Tensor loss = loss_and_gradients(plain, AmpMode::none, fields.image, fields.target);
  const at::Tensor forecast = plain.vit(fields.image).detach();
  for (const auto& [name, fusion] : model_fusions()) {
    INFO("fusion: " << name);
    FusedModel fused(kOddVit, fusion);
    spread(fused.parameters);
    const at::Tensor ours = loss_and_gradients(fused, AmpMode::none, fields.image, fields.target);
    CHECK(std::fabs(ours.item<double>() - loss.item<double>()) <= kLoss);
    CHECK(difference(fused.vit(fields.image).detach(), forecast) <= kPrediction * largest(forecast));
    CHECK(gradient_error(fused.parameters, plain.parameters) <= kGradient);
  }
}

TEST_CASE("norms over the batch: each fusion gives the plain model's loss, gradients and running moments") {
  const Fields fields;
  PlainModel plain(with_buffers(kOddVit));
  spread(plain.parameters);
  const at::Tensor loss = loss_and_gradients(plain, AmpMode::none, fields.image, fields.target);
  for (const auto& [name, fusion] : model_fusions()) {
    INFO("fusion: " << name);
    FusedModel fused(with_buffers(kOddVit), fusion);
    spread(fused.parameters);
    const at::Tensor ours = loss_and_gradients(fused, AmpMode::none, fields.image, fields.target);
    CHECK(std::fabs(ours.item<double>() - loss.item<double>()) <= kLoss);
    CHECK(gradient_error(fused.parameters, plain.parameters) <= kGradient);
    REQUIRE(fused.parameters.buffers().size() == 2 * 5 + 4);
    for (std::size_t i = 0; i < 10; ++i) {
      const Buffer& buffer = fused.parameters.buffers()[i];
      const at::Tensor& exact = plain.parameters.buffers()[i].tensor;
      INFO(buffer.name);
      CHECK_FALSE(buffer.tensor.eq(buffer.fill).all().item<bool>());
      CHECK(difference(buffer.tensor, exact) <= kPrediction * largest(exact));
    }
    const at::NoGradGuard validation;
    const at::Tensor expected = plain.vit(fields.image);
    CHECK(difference(fused.vit(fields.image), expected) <= kPrediction * largest(expected));
  }
}

TEST_CASE("with every fusion off the fused model is the plain one to the bit, in all types") {
  const Fields fields;
  for (const AmpMode mode : {AmpMode::none, AmpMode::bf16, AmpMode::fp16}) {
    INFO(name_of(mode));
    PlainModel plain(kOddVit);
    FusedModel fused(kOddVit, kNoFusion);
    spread(plain.parameters);
    spread(fused.parameters);
    const at::Tensor loss = loss_and_gradients(plain, mode, fields.image, fields.target);
    CHECK(at::equal(loss_and_gradients(fused, mode, fields.image, fields.target), loss));
    for (std::size_t i = 0; i < plain.parameters.all().size(); ++i) {
      INFO(plain.parameters.all()[i].name);
      CHECK(at::equal(plain.parameters.all()[i].tensor.grad(), fused.parameters.all()[i].tensor.grad()));
    }
  }
}

/// Roundings to 16 bits on the longest way of a value through forward and backward: a block casts what its
/// two norms, the products of qkv, proj, fc1 and fc2, attention and GELU give, and the same of their
/// gradients; patch embedding and head do so too, and its weight's gradient is one more. kOddVit has two
/// blocks.
constexpr int kRoundings = 2 * (2 * 8 + 2) + 1;

/// Largest relative error of a gradient, when each of these roundings moves a value by a part of `unit` (half
/// a unit of the last place, relative) that has nothing to do with the others: each is uniform at worst, of
/// variance unit^2 / 3, they add up like a random walk, and of the few thousand values the largest lies at
/// four deviations.
double rounding_bound(double unit) { return 4 * unit * std::sqrt(kRoundings / 3.0); }

/// Of all gradients at once, relative to all of them.
double distance(const Parameters& ours, const Parameters& exact) {
  double off = 0, whole = 0;
  for (std::size_t i = 0; i < exact.all().size(); ++i) {  // the fused model lays them out with gaps
    const at::Tensor& reference = exact.all()[i].tensor.grad();
    off += (ours.all()[i].tensor.grad() - reference).square().sum().item<double>();
    whole += reference.square().sum().item<double>();
  }
  return std::sqrt(off / whole);
}

TEST_CASE("in 16 bits the fused model is as near to float32 as the plain one") {
  const Fields fields;
  PlainModel exact(kOddVit);
  spread(exact.parameters);
  const double exact_loss =
      loss_and_gradients(exact, AmpMode::none, fields.image, fields.target).item<double>();
  for (const AmpMode mode : {AmpMode::bf16, AmpMode::fp16}) {
    const double unit = mode == AmpMode::bf16 ? 0x1p-8 : 0x1p-11;
    PlainModel plain(kOddVit);
    spread(plain.parameters);
    const double plain_loss = loss_and_gradients(plain, mode, fields.image, fields.target).item<double>();
    const double plain_distance = distance(plain.parameters, exact.parameters);
    CAPTURE(name_of(mode), plain_loss, exact_loss, plain_distance);
    CHECK(plain_distance > 0.1 * unit);  // 16 bits did take part
    CHECK(gradient_error(plain.parameters, exact.parameters) <= rounding_bound(unit));
    for (const auto& [name, fusion] : model_fusions()) {
      FusedModel fused(kOddVit, fusion);
      spread(fused.parameters);
      const double loss = loss_and_gradients(fused, mode, fields.image, fields.target).item<double>();
      const double error = gradient_error(fused.parameters, exact.parameters);
      const double fused_distance = distance(fused.parameters, exact.parameters);
      CAPTURE(name, loss, error, fused_distance);
      CHECK(std::fabs(loss - exact_loss) <= unit * exact_loss);
      CHECK(error <= rounding_bound(unit));
      // A fused operation rounds no more often than the plain ones do; the rest is chance, which few large
      // gradients do not even out.
      CHECK(fused_distance <= 1.5 * plain_distance);
    }
  }
}

TEST_CASE("attention by name gives the same model") {
  const Fields fields;
  PlainModel plain(kOddVit);
  spread(plain.parameters);
  const at::Tensor loss = loss_and_gradients(plain, AmpMode::none, fields.image, fields.target);
  for (const AttentionKind kind : {AttentionKind::math, AttentionKind::flash}) {
    FusedModel fused(kOddVit, {}, kind);
    spread(fused.parameters);
    const at::Tensor ours = loss_and_gradients(fused, AmpMode::none, fields.image, fields.target);
    CHECK(std::fabs(ours.item<double>() - loss.item<double>()) <= kLoss);
    CHECK(gradient_error(fused.parameters, plain.parameters) <= kGradient);
  }
}

TEST_CASE("weights of the plain model load into the fused one, and the other way") {
  const TempFolder folder;
  PlainModel plain(kOddVit);
  spread(plain.parameters);
  save_weights(plain.parameters, folder / "plain.safetensors");
  FusedModel fused(kOddVit, {});
  load_weights(fused.parameters, folder / "plain.safetensors");
  const Fields fields;
  const at::Tensor expected = plain.vit(fields.image).detach();
  CHECK(difference(fused.vit(fields.image).detach(), expected) <= kPrediction * largest(expected));
  save_weights(fused.parameters, folder / "fused.safetensors");
  PlainModel back(kOddVit);
  load_weights(back.parameters, folder / "fused.safetensors");
  CHECK(at::equal(back.parameters.values(), plain.parameters.values()));
}

TEST_CASE("two hundred steps of either model stay together") {
  std::vector<Fields> batches;
  for (std::uint64_t i = 0; i < 4; ++i)
    batches.push_back({made_up_fields(kOddVit, 2, 10 + 2 * i), made_up_fields(kOddVit, 2, 11 + 2 * i)});
  const auto losses = [&](auto& model, AmpMode mode) {
    Adam adam(model.parameters, {});
    std::vector<double> out;
    for (std::size_t step = 0; step < 200; ++step) {
      const Fields& batch = batches[step % batches.size()];
      out.push_back(loss_and_gradients(model, mode, batch.image, batch.target).template item<double>());
      adam.step(learning_rate({}, 1e-3, static_cast<std::int64_t>(step), 200));
    }
    return out;
  };
  PlainModel plain(kOddVit);
  const std::vector<double> reference = losses(plain, AmpMode::none);
  REQUIRE(reference.back() < 0.9 * reference.front());  // there was something to learn
  FusedModel fused(kOddVit, {});
  const std::vector<double> ours = losses(fused, AmpMode::none);
  for (std::size_t step = 0; step < 10; ++step) CHECK(std::fabs(ours[step] - reference[step]) <= 2 * kLoss);
  CHECK(ours.back() == Approx(reference.back()).epsilon(0.005));
  FusedModel half(kOddVit, {});
  CHECK(losses(half, AmpMode::bf16).back() == Approx(reference.back()).epsilon(0.02));
}

}  // namespace isobar::test_fused_vit
