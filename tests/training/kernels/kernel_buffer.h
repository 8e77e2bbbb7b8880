#pragma once
// Operands of a kernel under test: values of an element type with a margin on either side that must stay as
// it is.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "core/random.h"
#include "kernels/fused_checks.h"
#include "kernels/pack.h"
#include "support/catch.h"

namespace isobar {

inline std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

inline std::vector<std::byte> to_type(ElementType type, const std::vector<float>& values) {
  std::vector<std::byte> out(values.size() * bytes_of(type));
  if (type == ElementType::f32) {
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  }
  std::vector<std::uint16_t> halves(values.size());
  if (type == ElementType::f16)
    pack_f16(values.data(), static_cast<std::int64_t>(values.size()), halves.data());
  if (type == ElementType::bf16) {
    for (std::size_t i = 0; i < values.size(); ++i) halves[i] = bf16_bits(values[i]);
  }
  std::memcpy(out.data(), halves.data(), out.size());
  return out;
}

inline std::vector<float> from_type(ElementType type, const std::vector<std::byte>& bytes) {
  std::vector<float> out(bytes.size() / bytes_of(type));
  if (type == ElementType::f32) {
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  std::vector<std::uint16_t> halves(out.size());
  std::memcpy(halves.data(), bytes.data(), bytes.size());
  if (type == ElementType::f16) unpack_f16(halves.data(), static_cast<std::int64_t>(out.size()), out.data());
  if (type == ElementType::bf16) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(halves[i]) << 16);
  }
  return out;
}

/// What `values` become when they are stored as `type`.
inline std::vector<float> stored(ElementType type, const std::vector<float>& values) {
  return from_type(type, to_type(type, values));
}

/// `n` values in -scale .. scale, always the same for one `name`.
inline std::vector<float> drawn(const char* name, std::int64_t n, double scale) {
  const std::uint64_t key = stream_key(7, name);
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(scale * (2 * uniform_at(key, i) - 1));
  return out;
}

class KernelBuffer {
 public:
  /// `content` at `offset` bytes behind an aligned place.
  KernelBuffer(KernelPlace& place, const std::vector<std::byte>& content, std::size_t offset)
      : place_(place),
        begin_(place.margin() + offset),
        size_(content.size()),
        before_(begin_ + size_ + place.margin(), kUntouched),
        memory_(place.take(before_.size())) {
    std::copy(content.begin(), content.end(), before_.begin() + static_cast<std::ptrdiff_t>(begin_));
    restore();
  }

  /// `values` as `type`, and as many elements behind an aligned place as the case says.
  KernelBuffer(KernelPlace& place, ElementType type, const std::vector<float>& values, std::size_t offset)
      : KernelBuffer(place, to_type(type, values), offset * bytes_of(type)) {}

  template <typename Value>
  Value* as() const {
    return reinterpret_cast<Value*>(memory_ + begin_);
  }
  void* data() const { return memory_ + begin_; }

  /// What it held at first.
  void restore() { place_.upload(memory_, before_.data(), before_.size()); }

  /// What it holds now; margins must be as they were.
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(before_.size());
    place_.download(all.data(), memory_, all.size());
    REQUIRE(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin_), before_.begin()));
    const auto behind = static_cast<std::ptrdiff_t>(begin_ + size_);
    REQUIRE(std::equal(all.begin() + behind, all.end(), before_.begin() + behind));
    return {all.begin() + static_cast<std::ptrdiff_t>(begin_), all.begin() + behind};
  }
  std::vector<float> values(ElementType type = ElementType::f32) const { return from_type(type, bytes()); }
  template <typename Value>
  std::vector<Value> values_as() const {
    const std::vector<std::byte> content = bytes();
    std::vector<Value> out(content.size() / sizeof(Value));
    std::memcpy(out.data(), content.data(), content.size());
    return out;
  }

 private:
  static constexpr std::byte kUntouched{0x5a};

  KernelPlace& place_;
  std::size_t begin_;
  std::size_t size_;
  std::vector<std::byte> before_;
  std::byte* memory_;
};

/// `bytes` of each buffer after `run`, which is done twice from the same start and must give the same bits.
template <typename Run>
void run_twice(const std::vector<KernelBuffer*>& results, const Run& run) {
  std::vector<std::vector<std::byte>> first;
  run();
  for (KernelBuffer* const result : results) {
    first.push_back(result->bytes());
    result->restore();
  }
  run();
  for (std::size_t i = 0; i < results.size(); ++i) REQUIRE(results[i]->bytes() == first[i]);
}

/// Half a step of `type` at `value`, and where a float32 result may be off by `f32_error`, that too.
inline double rounding(ElementType type, double value, double f32_error) {
  if (type == ElementType::f32) return f32_error;
  const double step = type == ElementType::f16 ? std::ldexp(1.0, -11) : std::ldexp(1.0, -8);
  const double least = type == ElementType::f16 ? std::ldexp(1.0, -25) : 0;
  return std::max(step * std::abs(value), least) * 1.001 + f32_error;
}

/// found[i] is within the rounding of `type` and `f32_error(i)` of expected[i].
template <typename ErrorOf>
void require_near(const char* what, ElementType type, const std::vector<float>& found,
                  const std::vector<double>& expected, const ErrorOf& f32_error) {
  REQUIRE(found.size() == expected.size());
  constexpr double kLargestHalfRounded = 65520;  // what is beyond it becomes an infinity
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (type == ElementType::f16 && std::abs(expected[i]) > 0.999 * kLargestHalfRounded) continue;
    const double allowed = rounding(type, expected[i], f32_error(i));
    if (std::abs(static_cast<double>(found[i]) - expected[i]) <= allowed) continue;
    FAIL(what << " " << i << ": " << found[i] << ", not " << expected[i] << " within " << allowed);
  }
}

}  // namespace isobar
