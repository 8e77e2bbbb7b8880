// Factors of one matrix.
#include <ATen/ops/eye.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

#include "compress/bucket_task.h"
#include "compress/factors.h"
#include "support/catch.h"
#include "support/tolerances.h"

namespace isobar::test_factors {

namespace {

at::Tensor normal(std::int64_t rows, std::int64_t columns, std::int64_t turn = 0) {
  return random_factor(rows, columns, 7, "test", turn, at::zeros({1}));
}

double off_orthonormal(const at::Tensor& factor) {
  return difference(at::mm(factor.t(), factor), at::eye(factor.size(1), factor.options()));
}

}  // namespace

TEST_CASE("columns become orthonormal and span what they spanned") {
  for (const std::int64_t rank : {1, 2, 4, 12}) {
    const at::Tensor before = normal(12, rank);
    const at::Tensor factor = before.clone();
    orthonormalise(factor);
    INFO(rank);
    CHECK(off_orthonormal(factor) < 1e-6);
    CHECK(difference(at::mm(factor, at::mm(factor.t(), before)), before) < 1e-5);
  }
}

TEST_CASE("columns that depend on one another, or are zero, leave no NaN and keep the rank") {
  const at::Tensor column = normal(9, 1);
  const at::Tensor turned = at::zeros({9, 3});  // its first two columns span the first unit vector
  turned.select(1, 0)[0] = turned.select(1, 1)[1] = 0.6;
  turned.select(1, 0)[1] = 0.8;
  turned.select(1, 1)[0] = -0.8;
  for (const at::Tensor& factor :
       {turned, at::zeros({9, 3}), at::mm(column, normal(1, 3)), at::zeros({3, 3})}) {
    orthonormalise(factor);
    CHECK(off_orthonormal(factor) < 1e-6);
  }
}

TEST_CASE("columns that nearly depend on one another are orthogonal to rounding") {
  const at::Tensor factor = at::mm(normal(40, 1), at::ones({1, 4})).add_(normal(40, 4, 1), 1e-4);
  orthonormalise(factor);
  CHECK(off_orthonormal(factor) < 1e-6);
}

TEST_CASE("first factors depend on seed, name and turn only") {
  const at::Tensor like = at::zeros({1});
  const at::Tensor one = random_factor(5, 2, 1, "a", 0, like);
  CHECK(difference(one, random_factor(5, 2, 1, "a", 0, like)) == 0);
  CHECK(difference(one, random_factor(5, 2, 2, "a", 0, like)) > 0.1);
  CHECK(difference(one, random_factor(5, 2, 1, "b", 0, like)) > 0.1);
  CHECK(difference(one, random_factor(5, 2, 1, "a", 1, like)) > 0.1);
}

TEST_CASE("a round sends M times the kept factor and leaves the rest as error, transposed too") {
  const at::Tensor matrix = normal(6, 10), kept = normal(10, 2, 1);
  for (const bool transposed : {false, true}) {
    const at::Tensor memory = transposed ? matrix.t().contiguous() : matrix.clone();
    const FactorRound round{
        .matrix = transposed ? memory.t() : memory, .kept = kept.clone(), .sent = at::zeros({6, 2})};
    alternate_round(round);
    CHECK(off_orthonormal(round.kept) < 1e-6);
    CHECK(difference(round.sent, at::mm(matrix, round.kept)) < 1e-5);
    CHECK(difference(round.matrix.add(at::mm(round.sent, round.kept.t())), matrix) < 1e-5);
  }
}

TEST_CASE("what a task throws leaves resume, in its first part and behind a message") {
  struct Nobody final : BucketMessenger {
    int ranks() const override { return 1; }
    void send(std::size_t, const at::Tensor&, Reduce) override { ++sent; }
    void wait(std::size_t) override {}
    int sent = 0;
  } messenger;
  std::size_t messages = 0;
  SentBucket bucket(0, messenger, messages);
  const auto way = [](SentBucket& own, bool sends) -> BucketTask {
    const Payload payload{at::zeros(2)};
    if (sends) co_await own.all_reduce(payload);
    throw std::runtime_error("broken");
  };
  BucketTask at_once = way(bucket, false);
  CHECK_THROWS_AS(at_once.resume(), std::runtime_error);
  BucketTask later = way(bucket, true);
  later.resume();
  CHECK(messenger.sent == 1);
  CHECK_FALSE(later.done());
  CHECK_THROWS_AS(later.resume(), std::runtime_error);
}

}  // namespace isobar::test_factors
