// The checks of the kernels that work on fields, and of the count: the same bits as the definition.
#include <numeric>

#include "kernels/fused_checks.h"
#include "kernels/kernel_buffer.h"
#include "kernels/normalise.h"
#include "support/catch.h"
#include "support/odd_floats.h"

namespace isobar {
namespace {

template <typename Value>
std::vector<std::byte> bytes_of_values(const std::vector<Value>& values) {
  std::vector<std::byte> out(values.size() * sizeof(Value));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::uint16_t half_bits(float value) {
  constexpr float kLargestRounded = 65520;  // it and what is beyond become an infinity
  if (std::abs(value) >= kLargestRounded) return value < 0 ? 0xfc00 : 0x7c00;
  std::uint16_t bits = 0x7e00;
  if (!std::isnan(value)) pack_f16(&value, 1, &bits);
  return bits;
}

/// What a batch is made of.
struct FieldContent {
  std::vector<std::byte> fields;
  std::vector<float> values;  ///< what the fields stand for
  std::vector<std::int32_t> field_of;
  std::vector<float> mean, spread;
};

std::size_t element_bytes(FieldOutput output) { return output == FieldOutput::f32 ? 4 : 2; }

FieldContent field_content(const FieldCase& test) {
  FieldContent out;
  const std::int64_t n = test.fields * test.channels * test.plane;
  out.values = test.extreme ? mixed_floats(static_cast<std::size_t>(n), 3) : drawn("fields", n, 12);
  if (!test.packed) {
    out.fields = bytes_of_values(out.values);
  } else if (*test.packed == PackedField::f16) {
    std::vector<std::uint16_t> halves;
    for (const float value : out.values) halves.push_back(half_bits(value));
    // An odd step: 65,536 of them are every half once.
    for (std::size_t i = 0; test.extreme && i < halves.size(); ++i)
      halves[i] = static_cast<std::uint16_t>(i * 273);
    out.fields = bytes_of_values(halves);
    unpack_f16(halves.data(), n, out.values.data());
  } else {
    std::vector<std::int16_t> steps;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      steps.push_back(static_cast<std::int16_t>(test.extreme ? i * 273 : below_at(5, i, 65536)));
    out.fields = bytes_of_values(steps);
    unpack_i16(steps.data(), n, out.values.data());
  }
  for (std::int64_t use = 0; use < (1 + test.targets) * test.samples; ++use) {
    out.field_of.push_back(static_cast<std::int32_t>(
        below_at(9, static_cast<std::uint64_t>(use), static_cast<std::uint64_t>(test.fields))));
  }
  out.mean = drawn("mean", test.channels, test.extreme ? 1e30 : 3);
  out.spread = drawn("spread", test.channels, 1);
  for (float& value : out.spread) value = std::abs(value) * (test.extreme ? 1e-30F : 5.0F) + 1e-31F;
  return out;
}

/// One of the outputs, as float32, and how many of its values are not finite.
std::vector<float> expected_output(const FieldCase& test, const FieldContent& content, std::int64_t first_use,
                                   std::int64_t uses, std::int64_t& nonfinite) {
  std::vector<float> out;
  for (std::int64_t use = first_use; use < first_use + uses; ++use) {
    for (std::int64_t c = 0; c < test.channels; ++c) {
      const std::int64_t field = content.field_of[static_cast<std::size_t>(use)];
      const float* const from = content.values.data() + (field * test.channels + c) * test.plane;
      std::vector<float> plane(from, from + test.plane);
      const auto channel = static_cast<std::size_t>(c);
      if (!test.packed) {
        normalise_values(from, plane.data(), test.plane, content.mean[channel], content.spread[channel],
                         Stores::cached);
      }
      nonfinite += plain_count_nonfinite(plane.data(), test.plane);
      out.insert(out.end(), plane.begin(), plane.end());
    }
  }
  return out;
}

/// The bits of `value` as the kernel stores it; all NaN are one.
std::uint32_t stored_bits(FieldOutput output, float value) {
  if (std::isnan(value)) return 0x7fc00000U;
  if (output == FieldOutput::f16) return half_bits(value);
  if (output == FieldOutput::bf16) return bf16_bits(value);
  return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t found_bits(FieldOutput output, const std::byte* at) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, element_bytes(output));
  const std::uint32_t magnitude = bits & (output == FieldOutput::f32 ? 0x7fffffffU : 0x7fffU);
  const std::uint32_t infinity = output == FieldOutput::f32   ? 0x7f800000U
                                 : output == FieldOutput::f16 ? 0x7c00U
                                                              : 0x7f80U;
  return magnitude > infinity ? 0x7fc00000U : bits;
}

void require_output(const char* what, FieldOutput output, const std::vector<std::byte>& found,
                    const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size() * element_bytes(output));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t bits = found_bits(output, found.data() + i * element_bytes(output));
    if (bits == stored_bits(output, expected[i])) continue;
    FAIL(what << " " << i << ": bits " << bits << ", not " << stored_bits(output, expected[i]) << " of "
              << expected[i]);
  }
}

}  // namespace

void check_normalise(KernelPlace& place, const FieldCase& test) {
  INFO("normalise " << test.fields << " fields, " << test.samples << " x " << test.channels << " x "
                    << test.plane << " offset " << test.offset << " packed "
                    << (test.packed ? static_cast<int>(*test.packed) : -1) << " output "
                    << static_cast<int>(test.output) << (test.extreme ? " extreme" : ""));
  const FieldContent content = field_content(test);
  const auto n = static_cast<std::size_t>(test.samples * test.channels * test.plane);
  const std::size_t in_offset = test.offset * (test.packed ? 2 : 4);
  const std::size_t out_offset = test.offset * element_bytes(test.output);
  const std::vector<std::byte> nothing(n * element_bytes(test.output), std::byte{0x11});
  KernelBuffer fields(place, content.fields, in_offset);
  KernelBuffer field_of(place, bytes_of_values(content.field_of), 0);
  KernelBuffer mean(place, bytes_of_values(content.mean), 0),
      spread(place, bytes_of_values(content.spread), 0);
  const std::vector<std::byte> nothing_later(nothing.size() * static_cast<std::size_t>(test.targets),
                                             std::byte{0x11});
  KernelBuffer input(place, nothing, out_offset), target(place, nothing_later, out_offset);
  KernelBuffer nonfinite(place, bytes_of_values(std::vector<std::int64_t>{40}), 0);
  DeviceFields batch;
  batch.fields = fields.data();
  batch.field_of = field_of.as<std::int32_t>();
  batch.mean = mean.as<float>();
  batch.spread = spread.as<float>();
  batch.samples = test.samples;
  batch.targets = test.targets;
  batch.channels = test.channels;
  batch.plane = test.plane;
  batch.input = input.data();
  batch.target = target.data();
  batch.nonfinite = nonfinite.as<std::int64_t>();
  run_twice({&input, &target, &nonfinite}, [&] { place.normalise(batch, test.packed, test.output); });
  std::int64_t bad = 40;  // it grows
  require_output("input", test.output, input.bytes(), expected_output(test, content, 0, test.samples, bad));
  require_output("target", test.output, target.bytes(),
                 expected_output(test, content, test.samples, test.targets * test.samples, bad));
  CHECK(nonfinite.values_as<std::int64_t>()[0] == bad);
  place.drop();
}

void check_count_nonfinite(KernelPlace& place, std::int64_t n, std::size_t offset) {
  INFO("count_nonfinite " << n << " offset " << offset);
  const std::vector<float> content = mixed_floats(static_cast<std::size_t>(n), 7);
  KernelBuffer values(place, bytes_of_values(content), offset * sizeof(float));
  KernelBuffer counter(place, bytes_of_values(std::vector<std::int64_t>{40}), 0);
  run_twice({&counter}, [&] { place.count_nonfinite(values.as<float>(), n, counter.as<std::int64_t>()); });
  CHECK(counter.values_as<std::int64_t>()[0] == 40 + plain_count_nonfinite(content.data(), n));
  values.bytes();
  place.drop();
}

void check_all_count_nonfinite(KernelPlace& place, bool large) {
  std::vector<std::int64_t> lengths(40);
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.insert(lengths.end(), {1027, 1'050'003});  // the last: more than one round of all blocks
  if (large) lengths.push_back(24'000'003);
  for (const std::int64_t n : lengths) {
    for (std::size_t offset = 0; offset < 4; ++offset) check_count_nonfinite(place, n, offset);
  }
}

void check_all_normalise(KernelPlace& place, bool large) {
  for (const auto packed :
       {std::optional<PackedField>(), std::optional(PackedField::f16), std::optional(PackedField::i16)}) {
    for (const FieldOutput output : {FieldOutput::f32, FieldOutput::f16, FieldOutput::bf16}) {
      for (const std::int64_t plane : {1, 4, 37, 4100}) {  // the last: several chunks of a plane
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
          check_normalise(place, {3, 2, 3, plane, offset, packed, output});
        }
      }
      check_normalise(place, {2, 3, 2, 240, 0, packed, output, /*extreme=*/true});
      for (const std::int64_t targets : {2, 4})
        check_normalise(place, {5, 3, 2, 37, 0, packed, output, /*extreme=*/false, targets});
      if (!large) continue;
      check_normalise(place, {3, 2, 20, 259'200, 0, packed, output});
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}})
        check_normalise(place, {1, 1, 1, 65'536, offset, packed, output, /*extreme=*/true});
    }
  }
  if (large) {
    for (const std::int64_t plane : {2, 3, 5, 8, 105, 128, 1023, 1024, 1025, 4095, 4096, 4097, 8200}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
        for (const bool extreme : {false, true})
          check_normalise(place, {3, 2, 5, plane, offset, {}, FieldOutput::f32, extreme});
      }
    }
    check_normalise(place, {1, 1, 1, 1'000'003, 0, {}, FieldOutput::f32, /*extreme=*/true});
    // More chunks than the grid has blocks: each block takes several.
    check_normalise(place, {7, 300'000, 3, 1});
  }
  check_normalise(place, {1, 0, 3, 8});  // nothing to do
}

}  // namespace isobar
