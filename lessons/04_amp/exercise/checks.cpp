// What is asked of my/04_loss_scaler.cpp, easy things first.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "04_amp/exercise/part.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr ScalerSetting kSetting{.growth = 2, .backoff = 0.25, .growth_interval = 4};
constexpr const char* kLookUpdate = "update(): what it does after an overflow, and what after a good step";

std::string words(bool good) { return good ? "true" : "false"; }

/// One step, good or not. The gradients are as good a step has them, but for `gradient`.
bool make_step(LossScaler& scaler, float gradient) {
  std::array<float, 3> gradients = {1, gradient, -2};
  const bool good = scaler.unscale(gradients);
  scaler.update();
  return good;
}

void make_good_steps(LossScaler& scaler, int count) {
  for (int i = 0; i < count; ++i) make_step(scaler, 1);
}

void expect_scale(const LossScaler& scaler, double wanted, const std::string& when, const char* look) {
  const double came = scaler.state().scale;
  expect(came == wanted, {fmt::format("a scale of {} {}", wanted, when), fmt::format("{}", came), look});
}

void check_scale(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  const float came = scaler->scale(0.75F);
  expect(came == 768, {"scale(0.75) to give 768 with a scale of 1024", fmt::format("{}", came),
                       "scale(): the loss is multiplied by state_.scale"});
}

void check_unscale(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  std::vector<float> gradients = {1024, -2048, 0, 0.5F, 3072};
  const std::vector<float> wanted = {1, -2, 0, 0.5F / 1024, 3};
  const bool good = scaler->unscale(gradients);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    expect(gradients[i] == wanted[i],
           {fmt::format("gradient {} of 5 to become {} with a scale of 1024", i, wanted[i]),
            fmt::format("{}", gradients[i]), "unscale(): each gradient is divided by the scale, in place"});
  expect(good, {"unscale() to give true for five finite gradients", words(good),
                "what unscale() takes for an overflow"});
}

/// `bad` at each place of five.
void expect_overflow(const Part& part, float bad, const char* name, const char* look) {
  for (const std::size_t place : {4U, 0U, 2U}) {
    const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
    std::vector<float> gradients = {1, 2, 3, 4, 5};
    gradients[place] = bad;
    const bool good = scaler->unscale(gradients);
    expect(!good, {fmt::format("unscale() to give false with {} as gradient {} of 5", name, place),
                   words(good), look});
  }
}

void check_infinite(const Part& part) {
  const char* const look =
      "unscale(): whether it looks at each gradient, and one good value hides no bad one";
  expect_overflow(part, kInf, "inf", look);
  expect_overflow(part, -kInf, "-inf", look);
}

void check_nan(const Part& part) {
  expect_overflow(part, kNan, "NaN", "unscale(): finite means neither infinite nor NaN (std::isfinite)");
}

void check_finite(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  std::vector<float> above_fp16 = {70000, -70000};
  bool good = scaler->unscale(above_fp16);
  expect(good, {"unscale() to give true for gradients of 70000, above fp16's 65504: they are float32",
                words(good), "what unscale() compares with"});
  std::vector<float> large = {kLargest, kLargest, 1};
  good = scaler->unscale(large);
  expect(good, {"unscale() to give true for the largest float32, twice", words(good),
                "whether unscale() looks at each gradient, or at a sum of them that can overflow itself"});
}

void check_empty(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  const bool good = scaler->unscale({});
  expect(good, {"unscale() to give true for no gradients at all", words(good),
                "what unscale() does before it looks at the first gradient"});
}

void check_back_off(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  std::vector<float> gradients = {1, kInf};
  scaler->unscale(gradients);
  expect_scale(*scaler, 1024, "until update(), though the very first step overflows",
               "whether unscale() changes the state");
  scaler->update();
  expect_scale(*scaler, 256, "after an overflow in the very first step (1024, backoff = 0.25)", kLookUpdate);
}

void check_again(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  make_step(*scaler, kInf);
  make_step(*scaler, kNan);
  expect_scale(*scaler, 64, "after two overflows in a row (1024, backoff = 0.25)", kLookUpdate);
  const bool good = make_step(*scaler, 1);
  expect(good, {"the step after two overflows to be good again", "one more overflow",
                "where has_overflowed_ becomes false again"});
  expect_scale(*scaler, 64, "after two overflows and a good step",
               "whether update() goes by this step alone: has_overflowed_ is of the last unscale()");
}

void check_grow(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  make_good_steps(*scaler, 3);
  expect_scale(*scaler, 1024, "after 3 good steps (growth_interval = 4)", "when update() grows");
  make_good_steps(*scaler, 1);
  expect_scale(*scaler, 2048, "after 4 good steps (growth_interval = 4)",
               "when update() grows: the step that ends is one of the good steps");
  make_good_steps(*scaler, 3);
  expect_scale(*scaler, 2048, "after 7 good steps (growth_interval = 4)",
               "whether update() counts anew once the scale has grown");
  make_good_steps(*scaler, 1);
  expect_scale(*scaler, 4096, "after 8 good steps (growth_interval = 4)", "when update() grows again");
}

/// An overflow after `before` good steps; `scale` is the one before it.
void expect_counted_anew(LossScaler& scaler, int before, double scale) {
  make_good_steps(scaler, before);
  make_step(scaler, kInf);
  const std::string then = fmt::format("after {} good and an overflow", before);
  expect_scale(scaler, scale / 4, then, kLookUpdate);
  for (int good = 1; good <= 3; ++good) {
    make_good_steps(scaler, 1);
    expect_scale(scaler, scale / 4, fmt::format("{}, then {} good (growth_interval = 4)", then, good),
                 "whether good steps are counted in a row: those before the overflow are gone");
  }
  make_good_steps(scaler, 1);
  expect_scale(scaler, scale / 2, then + ", then 4 good (growth_interval = 4)",
               "which steps update() counts: good ones since the overflow");
}

void check_in_a_row(const Part& part) {
  const auto scaler = part.make_scaler(kSetting, {.scale = 1024});
  expect_counted_anew(*scaler, 3, 1024);  // instead of the step that would have made it grow
  expect_counted_anew(*scaler, 1, 512);
}

/// A scale of 2^`exponent`, at the end of what float32 has.
void expect_kept(LossScaler& scaler, int exponent, float gradient, const char* when, const char* look) {
  make_step(scaler, gradient);
  const float came = scaler.state().scale;
  expect(came == std::ldexp(1.0F, exponent),
         {fmt::format("the scale to stay at 2^{} {}", exponent, when), fmt::format("{}", came), look});
}

void check_bounds(const Part& part) {
  const auto highest =
      part.make_scaler({.growth = 2, .growth_interval = 1}, {.scale = std::ldexp(1.0F, 127)});
  expect_kept(*highest, 127, 1, "where it would grow to 2^128, which float32 does not have",
              "multiply_scale(): a product that is not finite");
  const auto lowest = part.make_scaler({.backoff = 0.25}, {.scale = std::ldexp(1.0F, -149)});
  expect_kept(*lowest, -149, kInf, "where it would back off to nothing",
              "multiply_scale(): a scale of 0 makes every gradient NaN, and never grows again");
}

void check_resumed(const Part& part) {
  const auto first = part.make_scaler(kSetting, {.scale = 1024});
  make_good_steps(*first, 3);
  const std::int64_t count = first->state().good_steps;
  expect(count == 3, {"good_steps of 3 in the state after 3 good steps", fmt::format("{}", count),
                      "where update() counts: state_ is what a checkpoint keeps"});
  const auto resumed = part.make_scaler(kSetting, first->state());
  make_good_steps(*resumed, 1);
  expect_scale(*resumed, 2048, "in the first step after a checkpoint that was made after 3 good steps",
               "what update() goes by that is not part of state_");
}

/// Steps in any order, beside the rules in plain numbers.
void check_sequence(const Part& part) {
  std::mt19937 random(4);
  const auto scaler = part.make_scaler(kSetting, {.scale = 65536});
  double scale = 65536;
  int good_steps = 0;
  for (int step = 1; step <= 300; ++step) {
    const bool overflows = random() % 8 == 0;
    const bool good = make_step(*scaler, overflows ? (step % 2 == 0 ? kInf : kNan) : 1);
    expect(good != overflows, {fmt::format("unscale() to give {} in step {}", words(!overflows), step),
                               words(good), "what unscale() keeps from one step to the next"});
    if (overflows) {
      scale *= kSetting.backoff;
      good_steps = 0;
    } else if (++good_steps == kSetting.growth_interval) {
      scale *= kSetting.growth;
      good_steps = 0;
    }
    expect_scale(*scaler, scale, fmt::format("after step {} of a mixed sequence", step), kLookUpdate);
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"scale", exercise::check_scale},
                                           {"unscale", exercise::check_unscale},
                                           {"infinite", exercise::check_infinite},
                                           {"nan", exercise::check_nan},
                                           {"finite", exercise::check_finite},
                                           {"empty", exercise::check_empty},
                                           {"back_off", exercise::check_back_off},
                                           {"again", exercise::check_again},
                                           {"grow", exercise::check_grow},
                                           {"in_a_row", exercise::check_in_a_row},
                                           {"bounds", exercise::check_bounds},
                                           {"resumed", exercise::check_resumed},
                                           {"sequence", exercise::check_sequence}});
}

}  // namespace isobar
