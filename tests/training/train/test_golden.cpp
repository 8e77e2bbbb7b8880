// Numerical proof of the plain model: from the same weights and batches as PyTorch, the same prediction,
// loss, gradients and ten steps of Adam, in float32.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "model/vit.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/tolerances.h"
#include "train/adam.h"
#include "train/loss.h"
#include "train/metrics.h"
#include "train/schedule.h"

namespace isobar::test_golden {

namespace {

constexpr VitShape kSmall = {
    .height = 16, .width = 24, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 2};
constexpr VitShape kMicro = {
    .height = 48, .width = 96, .channels = 20, .patch = 8, .embed = 96, .depth = 4, .heads = 2};

using Golden = std::map<std::string, at::Tensor>;

struct Model {
  explicit Model(const VitShape& shape) : vit(parameters, shape) { parameters.materialise(1, at::kCPU); }
  Parameters parameters;
  Vit vit;
};

void set(const Parameter& parameter, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  at::Tensor tensor = parameter.tensor;
  tensor.copy_(value);
}

bool is_key_bias(const std::string& name) { return name.find("attn.k.bias") != std::string::npos; }

double largest_gradient(const Parameters& parameters) { return largest(parameters.gradients()); }

/// `ours` against `theirs` as design rule: relative to the tensor's largest, or a floor of the model's
/// largest gradient.
void check_gradient(const std::string& name, const at::Tensor& ours, const at::Tensor& theirs,
                    double tensor_largest, double model_largest) {
  INFO(name);
  CHECK(difference(ours, theirs) <= kGradient * std::max(tensor_largest, kGradientFloor * model_largest));
}

/// The true gradient of a key bias is zero: what is left is rounding, small beside the query's bias.
void check_key_bias(const Parameters& parameters, const Parameter& key) {
  INFO(key.name);
  std::string query = key.name;
  query.replace(query.find(".k."), 3, ".q.");
  const auto found = std::find_if(parameters.all().begin(), parameters.all().end(),
                                  [&](const Parameter& other) { return other.name == query; });
  REQUIRE(found != parameters.all().end());
  CHECK(largest(key.tensor.grad()) <= kKeyBias * largest(found->tensor.grad()));
}

void check_losses(const std::vector<double>& ours, const at::Tensor& theirs, const at::Tensor& in_double) {
  REQUIRE(static_cast<std::int64_t>(ours.size()) == theirs.numel());
  for (std::size_t step = 0; step < ours.size(); ++step) {
    const auto at_step = static_cast<std::int64_t>(step);
    INFO("step " << step);
    CHECK(std::fabs(ours[step] - theirs[at_step].item<double>()) <= kLoss);
    CHECK(std::fabs(ours[step] - in_double[at_step].item<double>()) <= 2 * kLoss);
  }
}

std::vector<double> ten_steps(Model& model, const std::vector<std::pair<at::Tensor, at::Tensor>>& batches) {
  const OptimConfig optim{.lr = 1e-3};
  const ScheduleConfig schedule;
  Adam adam(model.parameters, optim);
  std::vector<double> losses;
  for (std::int64_t step = 0; step < 10; ++step) {
    const auto& [input, target] = batches[static_cast<std::size_t>(step) % batches.size()];
    model.parameters.zero_gradients();
    const at::Tensor loss = relative_l2(model.vit(input), target);
    loss.backward();
    adam.step(learning_rate(schedule, optim.lr, step, 10));
    losses.push_back(loss.item<double>());
  }
  return losses;
}

/// Element i of tensor `index` as make_reference.py makes it: offset + scale (k / 2^23 - 1), k 24 bits of a
/// hash of (index, i).
at::Tensor formula_tensor(std::uint64_t index, at::IntArrayRef shape, float scale, float offset) {
  at::Tensor out = at::empty(shape, at::kFloat);
  const std::uint64_t key = mixed_bits(index);
  float* const values = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::uint64_t bits = mixed_bits(key + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL) >> 40;
    values[i] = offset + scale * (static_cast<float>(bits) * 0x1.0p-23F - 1.0F);
  }
  return out;
}

}  // namespace

TEST_CASE("a small model agrees with PyTorch in prediction, loss and every gradient") {
  const Golden golden = read_golden("small.safetensors");
  Model model(kSmall);
  for (const Parameter& parameter : model.parameters.all())
    set(parameter, golden.at("weights." + parameter.name));
  const at::Tensor prediction = model.vit(golden.at("input.0"));
  const at::Tensor& expected = golden.at("prediction.0");
  CHECK(difference(prediction, expected) <= kPrediction * largest(expected));
  const at::Tensor loss = relative_l2(prediction, golden.at("target.0"));
  CHECK(std::fabs(loss.item<double>() - golden.at("loss.0").item<double>()) <= kLoss);
  loss.backward();
  const double model_largest = largest_gradient(model.parameters);
  for (const Parameter& parameter : model.parameters.all()) {
    if (is_key_bias(parameter.name)) {
      check_key_bias(model.parameters, parameter);
    } else {
      const at::Tensor& theirs = golden.at("grad." + parameter.name);
      check_gradient(parameter.name, parameter.tensor.grad(), theirs, largest(theirs), model_largest);
    }
  }
}

TEST_CASE("ten steps of Adam on a small model agree with PyTorch in losses and weights") {
  const Golden golden = read_golden("small.safetensors");
  Model model(kSmall);
  for (const Parameter& parameter : model.parameters.all())
    set(parameter, golden.at("weights." + parameter.name));
  std::vector<std::pair<at::Tensor, at::Tensor>> batches;
  for (const char* number : {"0", "1", "2"}) {
    batches.emplace_back(golden.at(std::string("input.") + number),
                         golden.at(std::string("target.") + number));
  }
  check_losses(ten_steps(model, batches), golden.at("losses"), golden.at("losses64"));
  for (const Parameter& parameter : model.parameters.all()) {
    if (is_key_bias(parameter.name)) continue;
    INFO(parameter.name);
    const at::Tensor& theirs = golden.at("after10." + parameter.name);
    CHECK(difference(parameter.tensor.detach(), theirs) <= kWeightsAfterTen * largest(theirs));
  }
}

TEST_CASE("the preset cpu_micro agrees with PyTorch in prediction, loss and gradients") {
  const Golden golden = read_golden("cpu_micro.safetensors");
  Model model(kMicro);
  std::uint64_t index = 0;
  for (const Parameter& parameter : model.parameters.all()) {
    set(parameter, formula_tensor(index++, parameter.tensor.sizes(), 0x1.0p-4F,
                                  parameter.init == Init::ones ? 1.0F : 0.0F));
  }
  const at::Tensor input = formula_tensor(1000, {2, 20, 48, 96}, 2, 0);
  const at::Tensor target = formula_tensor(1001, {2, 20, 48, 96}, 2, 0);
  const at::Tensor prediction = model.vit(input);
  const at::Tensor& sample = golden.at("prediction_sample");
  CHECK(difference(prediction.flatten().slice(0, 0, std::nullopt, 997), sample) <=
        kPrediction * largest(prediction));
  const at::Tensor loss = relative_l2(prediction, target);
  CHECK(std::fabs(loss.item<double>() - golden.at("loss.0").item<double>()) <= kLoss);
  loss.backward();
  const double model_largest = largest_gradient(model.parameters);
  for (const Parameter& parameter : model.parameters.all()) {
    if (is_key_bias(parameter.name)) {
      check_key_bias(model.parameters, parameter);
      continue;
    }
    const at::Tensor flat = parameter.tensor.grad().flatten();
    const at::Tensor& theirs = golden.at("grad_sample." + parameter.name);
    at::Tensor ours = at::empty({8}, at::kFloat);
    for (std::int64_t k = 0; k < 8; ++k) ours[k] = flat[k * flat.numel() / 8];
    const double tensor_largest = golden.at("grad_largest." + parameter.name).item<double>();
    check_gradient(parameter.name, ours, theirs, tensor_largest, model_largest);
    const double norm = golden.at("grad_norm." + parameter.name).item<double>();
    CHECK(flat.to(at::kDouble).norm().item<double>() == Approx(norm).epsilon(kGradient));
  }
  model.parameters.zero_gradients();
  check_losses(ten_steps(model, {{input, target}}), golden.at("losses"), golden.at("losses64"));
}

TEST_CASE("scores agree with their definitions in double precision") {
  const Golden golden = read_golden("metrics.safetensors");
  const at::Tensor weights = latitude_weights(9);
  CHECK(weights.mean().item<double>() == Approx(1));
  const at::Tensor rmse = weighted_rmse(golden.at("prediction"), golden.at("target"), weights);
  CHECK(difference(rmse.to(at::kDouble), golden.at("rmse")) <= kScore);
  const at::Tensor& climatology = golden.at("climatology");
  const at::Tensor acc =
      weighted_acc(golden.at("prediction") - climatology, golden.at("target") - climatology, weights);
  CHECK(difference(acc.to(at::kDouble), golden.at("acc")) <= kScore);
  const double loss = relative_l2(golden.at("prediction"), golden.at("target")).item<double>();
  CHECK(loss == Approx(golden.at("loss").item<double>()).epsilon(kScore));
}

}  // namespace isobar::test_golden
