#include "kernels/head_loss.h"
#include "support/catch.h"
#include "support/tolerance_values.h"
#include "support/typed_values.h"

namespace isobar::test_head_loss {

namespace {

/// Batch, channels, height, width, patch.
constexpr HeadLossShape kShapes[] = {
    {1, 1, 1, 1, 1},  {2, 3, 4, 6, 2},    {3, 20, 16, 24, 8}, {2, 7, 9, 15, 3},   {1, 1, 130, 2, 1},
    {1, 33, 8, 8, 8}, {1, 5, 260, 20, 4}, {2, 4, 8, 8, 4},    {1, 18, 10, 10, 5}, {1, 131, 16, 32, 16}};

std::int64_t values_in(const HeadLossShape& shape) {
  return shape.batch * shape.channels * shape.height * shape.width;
}

/// Where target[b][c][y][x] is forecast, by the words of the header.
std::int64_t token_of(const HeadLossShape& s, std::int64_t b, std::int64_t c, std::int64_t y,
                      std::int64_t x) {
  const std::int64_t tokens = s.height / s.patch * (s.width / s.patch);
  const std::int64_t token = b * tokens + y / s.patch * (s.width / s.patch) + x / s.patch;
  return token * s.patch * s.patch * s.channels + (y % s.patch * s.patch + x % s.patch) * s.channels + c;
}

struct Given {
  Given(ElementType type, const HeadLossShape& shape)
      : shape(shape),
        tokens(type, random_values(values_in(shape), 1)),
        target(ElementType::f32, random_values(values_in(shape), 2)) {}

  /// use(sample, index of the token's value, index of the target's value)
  template <typename Use>
  void for_each(const Use& use) const {
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < shape.batch; ++b)
      for (std::int64_t c = 0; c < shape.channels; ++c)
        for (std::int64_t y = 0; y < shape.height; ++y)
          for (std::int64_t x = 0; x < shape.width; ++x) use(b, token_of(shape, b, c, y, x), at++);
  }

  HeadLossShape shape;
  TypedArray tokens;
  TypedArray target;
};

struct Result {
  std::vector<double> sums;
  TypedArray loss;
  TypedArray dtokens;
};

Result run(Given& given, InstructionSet set, float dloss = 512) {
  const ElementType type = given.tokens.type();
  const auto batch = static_cast<std::size_t>(given.shape.batch);
  Result out{std::vector<double>(2 * batch + 1, -7), {ElementType::f32, 1}, {type, given.tokens.size()}};
  std::vector<double> scratch(static_cast<std::size_t>(head_loss_scratch(given.shape)) + 1, -7);
  head_loss_cpu(HeadLossForward{type, given.shape, given.tokens.data(), given.target.floats(),
                                out.sums.data(), out.loss.floats(), scratch.data()},
                set);
  head_loss_cpu(HeadLossBackward{type, given.shape, given.tokens.data(), given.target.floats(),
                                 out.sums.data(), &dloss, out.dtokens.data()},
                set);
  CHECK((out.sums.back() == -7 && scratch.back() == -7));
  CHECK((out.loss.guards_hold() && out.dtokens.guards_hold()));
  return out;
}

/// Sums of squares of the differences and of the target, of each sample.
std::vector<double> sums_of(const Given& given) {
  std::vector<double> sums(2 * static_cast<std::size_t>(given.shape.batch));
  given.for_each([&](std::int64_t b, std::int64_t token, std::int64_t at) {
    const double wanted = given.target.at(at);
    const double difference = given.tokens.at(token) - wanted;
    sums[2 * static_cast<std::size_t>(b)] += difference * difference;
    sums[2 * static_cast<std::size_t>(b) + 1] += wanted * wanted;
  });
  return sums;
}

double loss_of(const Given& given) {
  const std::vector<double> sums = sums_of(given);
  double loss = 0;
  for (std::size_t i = 0; i < sums.size(); i += 2) loss += std::sqrt(sums[i] / sums[i + 1]);
  return loss / static_cast<double>(given.shape.batch);
}

}  // namespace

TEST_CASE("head and loss: value and gradient are those of the definition in double") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      for (const HeadLossShape& shape : kShapes) {
        INFO(name_of(set) << " " << name_of(type) << " " << shape.channels << " x " << shape.height << " x "
                          << shape.width << " by " << shape.patch);
        Given given(type, shape);
        const Result result = run(given, set);
        const std::vector<double> sums = sums_of(given);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          REQUIRE(std::abs(result.sums[i] - sums[i]) <= 16 * kFloatStep * sums[i]);
        }
        CHECK(std::abs(result.loss.at(0) - loss_of(given)) <= 20 * kFloatStep * loss_of(given));
        const auto batch = static_cast<double>(shape.batch);
        given.for_each([&](std::int64_t b, std::int64_t token, std::int64_t at) {
          const double* const of_b = &sums[2 * static_cast<std::size_t>(b)];
          const double factor = 512 / (batch * std::sqrt(of_b[0] * of_b[1]));
          const double wanted = factor * (given.tokens.at(token) - given.target.at(at));
          REQUIRE(std::abs(result.dtokens.at(token) - wanted) <=
                  half_step(type, wanted) + 24 * kFloatStep * std::abs(wanted));
        });
      }
    }
  }
}

TEST_CASE("head and loss: the gradient is the slope of the loss") {
  Given given(ElementType::f32, {2, 3, 4, 6, 2});
  const Result result = run(given, best_instruction_set(), 1);
  constexpr double kStep = 0x1p-10;
  for (std::int64_t i = 0; i < given.tokens.size(); ++i) {
    const double value = given.tokens.at(i);
    const auto loss_at = [&](double other) {
      given.tokens.set(i, other);
      const double loss = loss_of(given);
      const double really = given.tokens.at(i);
      return std::pair(loss, really);
    };
    const auto [above, more] = loss_at(value + kStep);
    const auto [below, less] = loss_at(value - kStep);
    given.tokens.set(i, value);
    REQUIRE(std::abs(result.dtokens.at(i) - (above - below) / (more - less)) <= 1e-6);
  }
}

TEST_CASE("head and loss: any number of threads gives the same bits, in place too") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      Given given(type, {3, 20, 40, 48, 8});
      const ThreadCount one(1);
      const Result alone = run(given, set);
      for (const int threads : {2, 3, 8}) {
        const ThreadCount several(threads);
        const Result result = run(given, set);
        CHECK((result.sums == alone.sums && result.loss == alone.loss && result.dtokens == alone.dtokens));
      }
      const float dloss = 512;
      head_loss_cpu(HeadLossBackward{type, given.shape, given.tokens.data(), given.target.floats(),
                                     alone.sums.data(), &dloss, given.tokens.data()},
                    set);
      CHECK(given.tokens == alone.dtokens);
    }
  }
}

TEST_CASE(
    "head and loss: a perfect forecast has gradient zero, a target of zeros no loss, NaN stays with its "
    "sample") {
  for (const InstructionSet set : instruction_sets_here()) {
    Given given(ElementType::f32, {2, 5, 8, 12, 4});
    given.for_each([&](std::int64_t b, std::int64_t token, std::int64_t at) {
      if (b == 0) given.tokens.set(token, given.target.at(at));
    });
    const Result perfect = run(given, set);
    CHECK(perfect.sums[0] == 0);
    CHECK(perfect.loss.at(0) > 0);
    const std::int64_t half = given.tokens.size() / 2;
    for (std::int64_t i = 0; i < half; ++i) REQUIRE(perfect.dtokens.at(i) == 0);
    for (std::int64_t i = half; i < 2 * half; ++i) REQUIRE(std::isfinite(perfect.dtokens.at(i)));

    for (const double odd : std::vector<double>{std::nan(""), -INFINITY, INFINITY}) {
      Given spoilt(ElementType::f32, {2, 5, 8, 12, 4});
      const Result before = run(spoilt, set);
      spoilt.tokens.set(3, odd);
      const Result result = run(spoilt, set);
      CHECK_FALSE(std::isfinite(result.sums[0]));
      CHECK_FALSE(std::isfinite(result.loss.at(0)));
      CHECK(result.sums[2] == before.sums[2]);
      CHECK(std::isnan(result.dtokens.at(3)));
      for (std::int64_t i = half; i < 2 * half; ++i) REQUIRE(result.dtokens.at(i) == before.dtokens.at(i));
    }
    Given empty(ElementType::f32, {1, 5, 8, 12, 4});
    empty.target =
        TypedArray(ElementType::f32, std::vector<double>(static_cast<std::size_t>(empty.target.size())));
    CHECK(run(empty, set).loss.at(0) == INFINITY);
  }
}

TEST_CASE("head and loss: no samples are no work; bytes moved are those of every operand once") {
  head_loss_cpu(HeadLossForward{.shape = {0, 20, 16, 24, 8}});
  head_loss_cpu(HeadLossBackward{.shape = {0, 20, 16, 24, 8}});
  CHECK(moved_bytes(HeadLossForward{.type = ElementType::bf16, .shape = {2, 3, 4, 6, 2}}) ==
        2 * 3 * 4 * 6 * 6);
  CHECK(moved_bytes(HeadLossBackward{.type = ElementType::f32, .shape = {2, 3, 4, 6, 2}}) ==
        2 * 3 * 4 * 6 * 12);
}

}  // namespace isobar::test_head_loss
