#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>

#include "bench/worker_data.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("made-up fields are the same whatever number of threads makes them") {
  const std::vector<std::int64_t> shape = {3, 200'001};
  at::set_num_threads(1);
  const at::Tensor one = random_field("fields", shape);
  at::set_num_threads(4);
  CHECK(at::equal(random_field("fields", shape), one));
  CHECK_FALSE(at::equal(random_field("others", shape), one));
  CHECK(std::abs(one.mean().item<double>()) < 0.01);
  CHECK(std::abs(one.std().item<double>() - 1) < 0.01);
  at::set_num_threads(1);
}
