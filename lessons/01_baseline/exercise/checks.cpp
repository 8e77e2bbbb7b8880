// What is asked of my/01_step.cpp, easy things first. Tensors are made within checks only: what torch keeps
// of its own would not survive the fork of a check.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "01_baseline/exercise/part.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kRate = 0.125;
constexpr const char* kLookNorm =
    "relative_l2(): over which values a norm goes, and that the mean over samples is the last thing";

at::Tensor values_of(const std::vector<float>& values) { return at::tensor(values); }

float at_place(const at::Tensor& tensor, std::int64_t place) {
  return tensor.contiguous().view(-1)[place].item<float>();
}

std::string number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{:.6g}", value); }

bool is_near(double came, double wanted) {
  return std::abs(came - wanted) <= 1e-6 + 2e-5 * std::abs(wanted);  // false for NaN
}

/// `name` = "weight", ...
void expect_values(const at::Tensor& came, const std::vector<double>& wanted, const std::string& name,
                   const std::string& when, const char* look) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double value = at_place(came, static_cast<std::int64_t>(i));
    expect(is_near(value, wanted[i]),
           {fmt::format("{} {} to be {} {}", name, i, number(wanted[i]), when), number(value), look});
  }
}

void check_zeroed(const Part& part) {
  at::Tensor gradients = at::full({8}, 3.0F);
  const at::Tensor of_parameter = gradients.narrow(0, 2, 4).view({2, 2});
  part.zero_gradients(gradients);
  for (std::int64_t i = 0; i < 8; ++i) {
    const float came = at_place(gradients, i);
    expect(came == 0, {fmt::format("gradient {} of 8 to be 0", i), fmt::format("{}", came),
                       "zero_gradients(): backward adds to what is there"});
  }
  const float came = at_place(of_parameter, 0);
  expect(came == 0, {"the gradient of a parameter, a view of the same memory, to be 0",
                     fmt::format("{} in it still", came),
                     "whether the memory is zeroed, or the variable takes another tensor"});
}

void check_not_finite(const Part& part) {
  for (const float bad : {kInf, kNan}) {
    at::Tensor gradients = values_of({1, bad, 2});
    part.zero_gradients(gradients);
    const float came = at_place(gradients, 1);
    expect(came == 0, {fmt::format("a gradient that was {} to be 0", number(bad)), number(came),
                       "how zero_gradients() comes by its zeros: inf - inf and 0 * inf are NaN"});
  }
}

void check_loss(const Part& part) {
  const at::Tensor prediction = values_of({3, 4, 10}).view({1, 3});
  const at::Tensor target = values_of({0, 0, 10}).view({1, 3});
  const at::Tensor loss = part.relative_l2(prediction, target);
  expect(loss.numel() == 1,
         {"the loss to be one number", fmt::format("{} of them", loss.numel()), kLookNorm});
  const float came = loss.item<float>();
  expect(is_near(came, 0.5),
         {"a loss of 0.5 for one sample: its error (3, 4, 0) has norm 5, its truth (0, 0, 10) norm 10",
          number(came), "relative_l2(): which norm is divided by which"});
  const bool same = at::equal(prediction, values_of({3, 4, 10}).view({1, 3})) &&
                    at::equal(target, values_of({0, 0, 10}).view({1, 3}));
  expect(same, {"prediction and target to stay as they are", "other values in them",
                "relative_l2(): operations whose names end in _ change their tensor"});
}

/// Three samples [B = 3, C = 2, H = 1, W = 2]: errors of norm 5, 1, 6, truths of norm 10, 4, 4.
at::Tensor three_targets() { return values_of({0, 6, 8, 0, 4, 0, 0, 0, 2, 2, 2, 2}).view({3, 2, 1, 2}); }
at::Tensor three_errors() { return values_of({3, 0, 0, 4, 0, 0, 1, 0, 2, 4, 0, 4}).view({3, 2, 1, 2}); }

void check_samples(const Part& part) {
  const at::Tensor loss = part.relative_l2(three_targets() + three_errors(), three_targets());
  expect(loss.dim() == 0, {"the loss of three samples to be a scalar",
                           fmt::format("a tensor with {} values", loss.numel()), kLookNorm});
  const float came = loss.item<float>();
  expect(is_near(came, 0.75),
         {"a loss of 0.75 for three samples [3, 2, 1, 2]: 5/10, 1/4 and 6/4", number(came), kLookNorm});
}

void check_backward(const Part& part) {
  const at::Tensor prediction = (three_targets() + three_errors()).set_requires_grad(true);
  const at::Tensor loss = part.relative_l2(prediction, three_targets());
  expect(loss.requires_grad(), {"a loss that backward can start from", "one that autograd knows nothing of",
                                "relative_l2(): item(), detach() and NoGradGuard cut the graph"});
  loss.backward();
  std::vector<double> wanted;
  const double divisors[] = {3.0 * 5 * 10, 3.0 * 1 * 4, 3.0 * 6 * 4};  // B ||error|| ||truth||
  for (std::int64_t i = 0; i < 12; ++i) wanted.push_back(at_place(three_errors(), i) / divisors[i / 4]);
  expect_values(prediction.grad(), wanted, "the gradient of prediction", "for three samples",
                "relative_l2(): what of it autograd sees");
}

void check_exact(const Part& part) {
  at::Tensor start = three_targets() + three_errors();
  start[1].copy_(three_targets()[1]);
  const at::Tensor prediction = start.set_requires_grad(true);
  part.relative_l2(prediction, three_targets()).backward();
  const float came = at_place(prediction.grad(), 4);
  expect(came == 0, {"a gradient of 0 where the prediction of a sample is exact", number(came),
                     "the root: the derivative of sqrt at 0 is infinite, and 0 * inf is NaN"});
}

/// Fresh, for `count` weights.
AdamState fresh(std::int64_t count) { return {.mean = at::zeros({count}), .square = at::zeros({count})}; }

void check_first_update(const Part& part) {
  at::Tensor weights = at::full({3}, 1.0F);
  const at::Tensor of_parameter = weights.narrow(0, 1, 2);
  AdamState state = fresh(3);
  part.adam_step(weights, values_of({0.5F, -2, 0.125F}), state, kRate, {});
  expect_values(weights, {1 - kRate, 1 + kRate, 1 - kRate}, "weight",
                "after the first update from 1 with a rate of 0.125, whatever the size of its gradient",
                "adam_step(): what the formula makes of m = 0.1 g and v = 0.05 g^2 at t = 1; nothing else "
                "moves a weight");
  const float came = at_place(of_parameter, 0);
  expect(came > 1, {"the parameter that is a view of weight 1 to be 1.125 after the update", number(came),
                    "whether the memory is changed, or the variable takes another tensor"});
}

void check_still(const Part& part) {
  at::Tensor weights = values_of({1, -4});
  AdamState state = fresh(2);
  for (int i = 0; i < 2; ++i) part.adam_step(weights, at::zeros({2}), state, kRate, {});
  expect_values(weights, {1, -4}, "weight", "after two updates with gradients of 0",
                "adam_step(): what moves a weight but its gradient, and what 0 is divided by");
}

void check_epsilon(const Part& part) {
  at::Tensor weights = values_of({1});
  AdamState state = fresh(1);
  part.adam_step(weights, values_of({1e-8F}), state, kRate, {});
  expect_values(weights, {1 - kRate / 2}, "weight", "after a gradient as small as eps = 1e-8: half a step",
                "adam_step(): where eps is added, behind the root of v / (1 - beta2^t)");
}

void check_moments(const Part& part) {
  at::Tensor weights = values_of({1});
  AdamState state = fresh(1);
  part.adam_step(weights, values_of({1}), state, kRate, {});
  const at::Tensor gradients = values_of({3});
  part.adam_step(weights, gradients, state, kRate, {});
  const char* const when = "after gradients of 1 and 3";
  expect_values(state.mean, {0.39}, "m", when, "adam_step(): m = 0.9 m + 0.1 g");
  expect_values(state.square, {0.4975}, "v", when, "adam_step(): v = 0.95 v + 0.05 g^2");
  expect(state.steps == 2, {"state.steps to be 2 after two updates", fmt::format("{}", state.steps),
                            "adam_step(): who counts"});
  const float came = at_place(gradients, 0);
  expect(came == 3, {"the gradient 3 to stay as it is", fmt::format("{}", came),
                     "adam_step(): operations whose names end in _ change their tensor"});
}

/// Adam in plain numbers.
struct PlainWeight {
  double weight = 0;
  double mean = 0;
  double square = 0;

  void step(double gradient, double rate, std::int64_t t, const AdamSetting& setting) {
    const auto count = static_cast<double>(t);
    mean = setting.beta1 * mean + (1 - setting.beta1) * gradient;
    square = setting.beta2 * square + (1 - setting.beta2) * gradient * gradient;
    const double corrected = square / (1 - std::pow(setting.beta2, count));
    weight -= rate * mean / (1 - std::pow(setting.beta1, count)) / (std::sqrt(corrected) + setting.eps);
  }
};

void check_ten_updates(const Part& part) {
  const AdamSetting setting{.beta1 = 0.8, .beta2 = 0.99, .eps = 1e-3};
  constexpr std::size_t kCount = 5;
  std::mt19937 random(1);
  std::vector<PlainWeight> plain(kCount);
  at::Tensor weights = at::zeros({kCount});
  AdamState state = fresh(kCount);
  for (int t = 1; t <= 10; ++t) {
    std::vector<float> gradients(kCount);
    const double rate = kRate / t;
    std::vector<double> wanted;
    for (std::size_t i = 0; i < kCount; ++i) {
      gradients[i] = static_cast<float>(random() % 2000) / 1000 - 1;
      plain[i].step(gradients[i], rate, t, setting);
      wanted.push_back(plain[i].weight);
    }
    part.adam_step(weights, values_of(gradients), state, rate, setting);
    expect_values(weights, wanted, "weight",
                  fmt::format("after update {} with beta1 = 0.8, beta2 = 0.99, eps = 1e-3", t),
                  "adam_step(): all of setting is used, and t grows by one with each update");
  }
}

void check_resumed(const Part& part) {
  AdamState state{.mean = values_of({0.5F}), .square = values_of({0.25F}), .steps = 3};
  PlainWeight plain{.weight = 1, .mean = 0.5, .square = 0.25};
  plain.step(1, kRate, 4, {});
  at::Tensor weights = values_of({1});
  part.adam_step(weights, values_of({1}), state, kRate, {});
  expect_values(weights, {plain.weight}, "weight", "in the first update after a checkpoint of 3 updates",
                "adam_step(): t goes on from state.steps, not from a count of its own");
}

/// An error of torch has pages of frames behind its first line.
void run_look(const std::function<void()>& look) {
  try {
    look();
  } catch (const c10::Error& error) {
    const std::string said = error.what_without_backtrace();
    not_yet({"tensors that fit the operations on them", "torch says: " + said.substr(0, said.find('\n')),
             "shapes, and operations that end in _ on what autograd watches"});
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  Checks out = checks_of<exercise::Part>(given, {{"zeroed", exercise::check_zeroed},
                                                 {"not_finite", exercise::check_not_finite},
                                                 {"loss", exercise::check_loss},
                                                 {"samples", exercise::check_samples},
                                                 {"backward", exercise::check_backward},
                                                 {"exact", exercise::check_exact},
                                                 {"first_update", exercise::check_first_update},
                                                 {"still", exercise::check_still},
                                                 {"epsilon", exercise::check_epsilon},
                                                 {"moments", exercise::check_moments},
                                                 {"ten_updates", exercise::check_ten_updates},
                                                 {"resumed", exercise::check_resumed}});
  for (Check& check : out) check.run = [look = check.run] { exercise::run_look(look); };
  return out;
}

}  // namespace isobar
