#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "comm/replica_hash.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("operations on tensors give the hash that the host computes") {
  for (const std::int64_t n : {1, 7, 1000, (1 << 22) + 3}) {
    const at::Tensor values = at::arange(n, at::kFloat).mul(0.731).sin();
    CHECK(replica_hash(values) == replica_hash_by_operations(values));
  }
}

TEST_CASE("a hash changes with every bit of every value") {
  const at::Tensor values = at::arange(100, at::kFloat).sub(50);
  const std::uint64_t before = replica_hash(values);
  for (const std::int64_t index : {0, 1, 50, 99}) {
    for (int bit = 0; bit < 32; ++bit) {
      flip_bit(values, index, bit);
      CHECK(replica_hash(values) != before);
      flip_bit(values, index, bit);
    }
  }
  CHECK(replica_hash(values) == before);
}

TEST_CASE("a hash sees two values that changed places, and where zeros end") {
  const at::Tensor values = at::arange(10, at::kFloat);
  CHECK(replica_hash(values) != replica_hash(values.flip(0).contiguous()));
  CHECK(replica_hash(values.narrow(0, 0, 9)) != replica_hash(values));
}

TEST_CASE("only float32 without gaps is hashed") {
  CHECK_THAT(failure_of([] { replica_hash(at::zeros({4}, at::kDouble)); }), says("float32"));
  CHECK_THAT(failure_of([] { replica_hash(at::zeros({4, 4}).t()); }), says("contiguous"));
}
