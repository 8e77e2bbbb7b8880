#include "kernels/adam.h"
#include "support/catch.h"
#include "support/odd_floats.h"
#include "support/tolerance_values.h"
#include "support/typed_values.h"

namespace isobar::test_adam {

namespace {

struct State {
  explicit State(std::int64_t n)
      : weights(ElementType::f32, random_values(n, 1, 1)),
        gradients(ElementType::f32, random_values(n, 2, 1e3)),
        mean(ElementType::f32, random_values(n, 3, 0.1)),
        square(ElementType::f32, n) {
    const std::vector<double> root = random_values(n, 4, 0.5);
    for (std::int64_t i = 0; i < n; ++i) {
      square.set(i, root[static_cast<std::size_t>(i)] * root[static_cast<std::size_t>(i)]);
    }
  }

  AdamStep job(const AdamControl& control) {
    return {.n = weights.size(),
            .weights = weights.floats(),
            .gradients = gradients.floats(),
            .mean = mean.floats(),
            .square = square.floats(),
            .control = &control};
  }
  bool guards_hold() const {
    return weights.guards_hold() && gradients.guards_hold() && mean.guards_hold() && square.guards_hold();
  }
  bool operator==(const State&) const = default;

  TypedArray weights;
  TypedArray gradients;
  TypedArray mean;
  TypedArray square;
};

constexpr AdamControl kControl = {.learning_rate = 1e-2F, .steps = 7, .inverse_scale = 0x1p-10F};

/// One step of the definition in double from `before`, against what the kernel left in `after`.
void compare(const State& before, const State& after, const AdamControl& control) {
  const double b1 = 0.9, b2 = 0.95, eps = 1e-8;
  const auto t = static_cast<double>(control.steps);
  for (std::int64_t i = 0; i < before.weights.size(); ++i) {
    const double g = before.gradients.at(i) * static_cast<double>(control.inverse_scale);
    const double m = b1 * before.mean.at(i) + (1 - b1) * g;
    const double v = b2 * before.square.at(i) + (1 - b2) * g * g;
    const double size = b1 * std::abs(before.mean.at(i)) + (1 - b1) * std::abs(g);
    const double rate = static_cast<double>(control.learning_rate) / (1 - std::pow(b1, t));
    const double root = std::sqrt(v / (1 - std::pow(b2, t))) + eps;
    REQUIRE(std::abs(after.mean.at(i) - m) <= 4 * kFloatStep * size);
    REQUIRE(std::abs(after.square.at(i) - v) <= 4 * kFloatStep * v);
    const double w = before.weights.at(i) - rate * m / root;
    REQUIRE(std::abs(after.weights.at(i) - w) <=
            kFloatStep * std::abs(w) + 12 * kFloatStep * rate * size / root);
  }
}

}  // namespace

TEST_CASE("Adam: every length gives the step of the definition in double, and touches nothing beside") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const std::int64_t n : {1, 2, 7, 16, 31, 64, 97, 1000, 40'001}) {
      for (const float steps : {1.0F, 7.0F, 100'000.0F}) {
        INFO(name_of(set) << " n = " << n << " t = " << steps);
        AdamControl control = kControl;
        control.steps = steps;
        const State before(n);
        State after = before;
        adam_cpu(after.job(control), set);
        compare(before, after, control);
        CHECK(after.guards_hold());
        CHECK(after.gradients == before.gradients);
      }
    }
  }
}

TEST_CASE("Adam: any number of threads gives the same bits") {
  for (const InstructionSet set : instruction_sets_here()) {
    State alone(70'001);
    const ThreadCount one(1);
    adam_cpu(alone.job(kControl), set);
    for (const int threads : {2, 3, 8}) {
      const ThreadCount several(threads);
      State together(70'001);
      adam_cpu(together.job(kControl), set);
      CHECK(together == alone);
    }
  }
}

TEST_CASE("Adam: a step that is skipped changes no bit, whatever the gradients are") {
  AdamControl control = kControl;
  control.skip = 1;
  for (const InstructionSet set : instruction_sets_here()) {
    State state(100);
    for (const std::int64_t i : {0, 50, 99}) state.gradients.set(i, std::nan(""));
    const State before = state;
    adam_cpu(state.job(control), set);
    CHECK(state == before);
  }
}

TEST_CASE(
    "Adam: a gradient that is not finite spoils its own weight only; zeros leave the weight where it is") {
  const AdamControl control = {.learning_rate = 1e-2F, .steps = 1};
  for (const InstructionSet set : instruction_sets_here()) {
    for (const float odd : floats_of_every_class()) {
      State state(70);
      for (TypedArray* array : {&state.mean, &state.square, &state.gradients}) {
        for (std::int64_t i = 0; i < 70; ++i) array->set(i, 0);
      }
      const State before = state;
      state.gradients.set(33, static_cast<double>(odd));
      adam_cpu(state.job(control), set);
      for (std::int64_t i = 0; i < 70; ++i) {
        if (i != 33) REQUIRE(state.weights.at(i) == before.weights.at(i));
      }
      INFO(name_of(set) << " " << odd);
      CHECK(std::isnan(state.weights.at(33)) == !std::isfinite(odd));
      if (std::isfinite(odd)) CHECK(std::abs(state.weights.at(33) - before.weights.at(33)) <= 0.0101);
    }
  }
}

TEST_CASE("Adam: no parameters are no work, and 28 bytes move for each") {
  const AdamControl control;
  adam_cpu(AdamStep{.control = &control});
  CHECK(moved_bytes(AdamStep{.n = 708'960}) == 708'960 * 28);
}

}  // namespace isobar::test_adam
