// From raw and packed fields to batches on the device, against the same on the processor, bit for bit.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "device/load_cuda.h"
#include "gpu/gpu.h"
#include "kernels/normalise.h"
#include "kernels/pack.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

namespace {

constexpr float kUntouched = 12345.0F;
constexpr std::int64_t kMargin = 16;  // values before and behind an output that must stay as they are

/// Sizes of one batch, and how many values its memory is away from an aligned place.
struct Sizes {
  std::int64_t fields = 0;
  std::int64_t samples = 0;
  std::int64_t channels = 0;
  std::int64_t plane = 0;
  std::int64_t offset = 0;

  std::int64_t field() const { return channels * plane; }
};

/// What a batch is made of, in host memory.
struct Content {
  std::vector<float> raw;
  std::vector<std::int32_t> field_of;
  std::vector<float> mean, spread;
};

std::vector<float> ordinary_floats(std::int64_t n, std::uint64_t key) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(300 * uniform_at(key, i) - 20);
  return out;
}

Content content(const Sizes& sizes, bool extreme) {
  const std::uint64_t key = stream_key(static_cast<std::uint64_t>(sizes.plane), "fields");
  Content out;
  const std::int64_t values = sizes.fields * sizes.field();
  out.raw = extreme ? mixed_floats(static_cast<std::size_t>(values), 3) : ordinary_floats(values, key);
  for (std::int64_t use = 0; use < 2 * sizes.samples; ++use) {
    const double draw = uniform_at(key + 1, static_cast<std::uint64_t>(use));
    out.field_of.push_back(static_cast<std::int32_t>(draw * static_cast<double>(sizes.fields)));
  }
  for (std::int64_t c = 0; c < sizes.channels; ++c) {
    const double draw = uniform_at(key + 2, static_cast<std::uint64_t>(c));
    out.mean.push_back(static_cast<float>(280 * draw));
    // With the extreme values some results are subnormal, and some overflow.
    out.spread.push_back(static_cast<float>(extreme ? std::pow(10.0, 60 * draw - 30) : 0.1 + 20 * draw));
  }
  return out;
}

template <typename Value>
at::Tensor to_gpu(std::vector<Value>& values, at::ScalarType type) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, type).to(kGpu);
}

/// What the device made of it: input, target, and the count.
struct Result {
  at::Tensor input, target;  ///< on the CPU, margins cut off
  std::int64_t nonfinite = 0;
};

/// Runs one kernel over `fields` (any type, on the device, from `offset` values on).
Result on_device(const Sizes& sizes, Content& content, const at::Tensor& fields, FieldOutput output,
                 std::optional<PackedField> packed) {
  const at::ScalarType type = output == FieldOutput::f32   ? at::kFloat
                              : output == FieldOutput::f16 ? at::kHalf
                                                           : at::kBFloat16;
  const std::int64_t values = sizes.samples * sizes.field();
  const std::int64_t begin = kMargin + sizes.offset;
  at::Tensor input = at::full({begin + values + kMargin}, kUntouched, on_gpu(type));
  at::Tensor target = at::full({begin + values + kMargin}, kUntouched, on_gpu(type));
  const at::Tensor field_of = to_gpu(content.field_of, at::kInt);
  const at::Tensor mean = to_gpu(content.mean, at::kFloat);
  const at::Tensor spread = to_gpu(content.spread, at::kFloat);
  at::Tensor counter = at::zeros({}, on_gpu(at::kLong));
  const DeviceFields batch = {
      .fields = static_cast<const std::byte*>(fields.const_data_ptr()) + sizes.offset * fields.element_size(),
      .field_of = field_of.const_data_ptr<std::int32_t>(),
      .mean = mean.const_data_ptr<float>(),
      .spread = spread.const_data_ptr<float>(),
      .samples = sizes.samples,
      .channels = sizes.channels,
      .plane = sizes.plane,
      .input = static_cast<std::byte*>(input.mutable_data_ptr()) + begin * input.element_size(),
      .target = static_cast<std::byte*>(target.mutable_data_ptr()) + begin * target.element_size(),
      .nonfinite = counter.mutable_data_ptr<std::int64_t>()};
  if (packed) {
    cuda_plugin().unpack(batch, *packed, output, gpu_stream());
  } else {
    cuda_plugin().normalise(batch, output, gpu_stream());
  }
  const at::Tensor untouched = at::full({begin}, kUntouched, at::TensorOptions(type));
  for (const at::Tensor& out : {input, target}) {
    const at::Tensor host = out.cpu();
    CHECK(at::equal(host.slice(0, 0, begin), untouched));
    CHECK(at::equal(host.slice(0, begin + values), untouched.slice(0, 0, kMargin)));
  }
  return {input.cpu().slice(0, begin, begin + values), target.cpu().slice(0, begin, begin + values),
          counter.item<std::int64_t>()};
}

/// The fields of [2 B], one after the other, out of [F] fields.
std::vector<float> arranged(const Sizes& sizes, const std::vector<float>& fields,
                            const std::vector<std::int32_t>& field_of) {
  std::vector<float> out;
  for (const std::int32_t field : field_of) {
    const auto first = fields.begin() + field * sizes.field();
    out.insert(out.end(), first, first + sizes.field());
  }
  return out;
}

std::vector<float> normalised(const Sizes& sizes, const Content& content) {
  std::vector<float> out(content.raw.size());
  for (std::int64_t p = 0; p < sizes.fields * sizes.channels; ++p) {
    const auto c = static_cast<std::size_t>(p % sizes.channels);
    normalise_values(content.raw.data() + p * sizes.plane, out.data() + p * sizes.plane, sizes.plane,
                     content.mean[c], content.spread[c], Stores::cached);
  }
  return out;
}

/// Equal bits; a NaN is a NaN.
bool same_bits(const at::Tensor& found, const float* expected) {
  const auto* const values = found.const_data_ptr<float>();
  for (std::int64_t i = 0; i < found.numel(); ++i) {
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    if (std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(expected[i])) {
      UNSCOPED_INFO("value " << i << ": " << values[i] << ", not " << expected[i]);
      return false;
    }
  }
  return true;
}

/// With `offset` values in front, which a kernel is to leave alone.
std::vector<float> behind(std::int64_t offset, const std::vector<float>& values) {
  std::vector<float> out(static_cast<std::size_t>(offset), kUntouched);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

void check_normalise(const Sizes& sizes, bool extreme) {
  INFO("fields " << sizes.fields << " samples " << sizes.samples << " channels " << sizes.channels
                 << " plane " << sizes.plane << " offset " << sizes.offset << " extreme " << extreme);
  Content data = content(sizes, extreme);
  std::vector<float> moved = behind(sizes.offset, data.raw);
  const at::Tensor fields = to_gpu(moved, at::kFloat);
  const std::vector<float> expected = arranged(sizes, normalised(sizes, data), data.field_of);
  const Result found = on_device(sizes, data, fields, FieldOutput::f32, {});
  REQUIRE(same_bits(found.input, expected.data()));
  REQUIRE(same_bits(found.target, expected.data() + found.input.numel()));
  const auto n = static_cast<std::int64_t>(expected.size());
  CHECK(found.nonfinite == plain_count_nonfinite(expected.data(), n));
  if (extreme) CHECK((found.nonfinite > 0 || n < 100));
}

}  // namespace

TEST_CASE("the device normalises to the bits of the processor, for any size and place, whatever the values") {
  for (const std::int64_t plane : {1, 2, 3, 4, 5, 8, 105, 128, 1023, 1024, 1025, 4095, 4096, 4097, 8200}) {
    for (const std::int64_t offset : {0, 1, 4}) {
      for (const bool extreme : {false, true}) {
        check_normalise({.fields = 3, .samples = 2, .channels = 5, .plane = plane, .offset = offset},
                        extreme);
      }
    }
  }
  check_normalise({.fields = 9, .samples = 8, .channels = 20, .plane = 360 * 72}, false);
  check_normalise({.fields = 1, .samples = 1, .channels = 1, .plane = 1'000'003}, true);
  // More chunks than the grid has blocks: each block takes several.
  check_normalise({.fields = 7, .samples = 300'000, .channels = 3, .plane = 1}, false);
}

TEST_CASE("a batch of nothing is no launch") {
  Sizes sizes = {.fields = 1, .samples = 1, .channels = 1, .plane = 4};
  Content data = content(sizes, false);
  const at::Tensor fields = to_gpu(data.raw, at::kFloat);
  sizes.samples = 0;
  CHECK(on_device(sizes, data, fields, FieldOutput::f32, {}).nonfinite == 0);
}

TEST_CASE("16-bit outputs are the fp32 result rounded as tensors round it") {
  for (const std::int64_t plane : {105, 4096}) {
    const Sizes sizes = {.fields = 4, .samples = 3, .channels = 5, .plane = plane};
    Content data = content(sizes, false);
    const at::Tensor fields = to_gpu(data.raw, at::kFloat);
    const Result full = on_device(sizes, data, fields, FieldOutput::f32, {});
    const Result half = on_device(sizes, data, fields, FieldOutput::f16, {});
    const Result brain = on_device(sizes, data, fields, FieldOutput::bf16, {});
    CHECK(at::equal(half.input, full.input.to(at::kHalf)));
    CHECK(at::equal(half.target, full.target.to(at::kHalf)));
    CHECK(at::equal(brain.input, full.input.to(at::kBFloat16)));
    CHECK(at::equal(brain.target, full.target.to(at::kBFloat16)));
  }
}

TEST_CASE("the device unpacks every half and every i16 to the bits of the processor") {
  for (const std::int64_t offset : {0, 1}) {
    const Sizes sizes = {.fields = 1, .samples = 1, .channels = 1, .plane = 65536, .offset = offset};
    Content data;
    data.field_of = {0, 0};
    data.mean = {7};  // not used
    data.spread = {3};
    std::vector<std::int16_t> packed(static_cast<std::size_t>(offset), std::int16_t{77});
    for (std::int32_t i = 0; i < 65536; ++i) packed.push_back(static_cast<std::int16_t>(i - 32768));
    const at::Tensor fields = to_gpu(packed, at::kShort);
    std::vector<float> expected(65536);
    unpack_i16(packed.data() + offset, 65536, expected.data());
    const Result steps = on_device(sizes, data, fields, FieldOutput::f32, PackedField::i16);
    CHECK(same_bits(steps.input, expected.data()));
    CHECK(same_bits(steps.target, expected.data()));
    CHECK(steps.nonfinite == 0);
    unpack_f16(reinterpret_cast<const std::uint16_t*>(packed.data()) + offset, 65536, expected.data());
    const Result halves = on_device(sizes, data, fields, FieldOutput::f32, PackedField::f16);
    CHECK(same_bits(halves.input, expected.data()));
    CHECK(halves.nonfinite == 2 * 2 * 1024);  // both signs, input and target
    const Result same = on_device(sizes, data, fields, FieldOutput::bf16, PackedField::i16);
    CHECK(at::equal(same.input, steps.input.to(at::kBFloat16)));
  }
}
