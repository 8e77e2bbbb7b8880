#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "device/load_cuda.h"
#include "device/nonfinite.h"
#include "gpu/gpu.h"
#include "gpu/spin.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

namespace {

at::Tensor to_gpu(std::vector<float>& values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat).to(kGpu);
}

void add_count(const float* values, std::int64_t n, at::Tensor& counter) {
  cuda_plugin().count_nonfinite(values, n, counter.mutable_data_ptr<std::int64_t>(), gpu_stream());
}

std::int64_t count(const float* values, std::int64_t n) {
  at::Tensor counter = at::zeros({}, on_gpu(at::kLong));
  add_count(values, n, counter);
  return counter.item<std::int64_t>();
}

}  // namespace

TEST_CASE("on the device each class of floats is counted or not, at every place") {
  std::vector<float> classes = floats_of_every_class();
  const at::Tensor there = to_gpu(classes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(count(there.const_data_ptr<float>() + i, 1) == plain_count_nonfinite(classes.data() + i, 1));
  }
}

TEST_CASE("on the device lengths of 0 to 100 at every alignment, with bad neighbours that are not counted") {
  std::vector<float> values = mixed_floats(256, 1);
  const at::Tensor there = to_gpu(values);
  for (std::int64_t begin = 0; begin < 9; ++begin) {
    for (std::int64_t n = 0; n <= 100; ++n) {
      INFO("begin " << begin << " n " << n);
      REQUIRE(count(there.const_data_ptr<float>() + begin, n) ==
              plain_count_nonfinite(values.data() + begin, n));
    }
  }
  std::vector<float> inside(64, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 10; i < 40; ++i) inside[i] = 1.0F;
  CHECK(count(to_gpu(inside).const_data_ptr<float>() + 10, 30) == 0);
}

TEST_CASE("on the device large buffers, and counts that add up") {
  std::vector<float> values = mixed_floats((std::size_t{1} << 23) + 3, 5);
  const auto n = static_cast<std::int64_t>(values.size());
  const at::Tensor there = to_gpu(values);
  at::Tensor counter = at::zeros({}, on_gpu(at::kLong));
  add_count(there.const_data_ptr<float>(), n, counter);
  add_count(there.const_data_ptr<float>() + 1, n - 1, counter);
  CHECK(counter.item<std::int64_t>() ==
        plain_count_nonfinite(values.data(), n) + plain_count_nonfinite(values.data() + 1, n - 1));
}

TEST_CASE("a tensor's bad values are counted behind what is on the stream, without waiting") {
  std::vector<float> values = mixed_floats(10'000, 3);
  const at::Tensor there = to_gpu(values);
  at::Tensor counter = at::zeros({}, on_gpu(at::kLong));
  add_nonfinite(there, counter);
  spin(1'000'000, gpu_stream());
  add_nonfinite(there, counter);
  CHECK_FALSE(current_stream(kGpu).query());
  CHECK(counter.item<std::int64_t>() == 2 * plain_count_nonfinite(values.data(), 10'000));
}
