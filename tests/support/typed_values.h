#pragma once
// Arrays in each of the types that kernels take, with guard zones around them, and the rounding of those
// types written a second time: in double, by the definition.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/element_type.h"
#include "vector/instruction_set.h"

namespace isobar {

/// Bits of the fraction with the leading one, and the exponents of the least normal and of the largest value.
struct TypeShape {
  int bits;
  int least;
  int most;
};
inline TypeShape shape_of(ElementType type) {
  if (type == ElementType::f32) return {24, -126, 127};
  if (type == ElementType::f16) return {11, -14, 15};
  return {8, -126, 127};
}

/// Half of the distance between neighbours at `value`: what rounding to the type may cost.
inline double half_step(ElementType type, double value) {
  const TypeShape shape = shape_of(type);
  const int exponent = value == 0 || !std::isfinite(value) ? shape.least : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, shape.least) - shape.bits);
}

/// The nearest value of the type, of two that are equally near the one whose last bit is 0.
inline double rounded_to(ElementType type, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double step = 2 * half_step(type, value);
  const double near = std::nearbyint(value / step) * step;
  const bool too_large = std::ilogb(near) > shape_of(type).most;
  return too_large ? std::copysign(std::numeric_limits<double>::infinity(), value) : near;
}

/// n values of `type` between guard zones. Those not given are NaNs of an odd pattern, like the guards.
class TypedArray {
 public:
  TypedArray(ElementType type, std::int64_t n)
      : type_(type), n_(n), bytes_(static_cast<std::size_t>(n) * bytes_of(type) + 2 * kGuard, kPattern) {}
  TypedArray(ElementType type, const std::vector<double>& values)
      : TypedArray(type, static_cast<std::int64_t>(values.size())) {
    for (std::size_t i = 0; i < values.size(); ++i) set(static_cast<std::int64_t>(i), values[i]);
  }

  void* data() { return bytes_.data() + kGuard; }
  float* floats() { return static_cast<float*>(data()); }
  std::int64_t size() const { return n_; }
  ElementType type() const { return type_; }

  double at(std::int64_t i) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, place(i), bytes_of(type_));
    if (type_ == ElementType::f16) return half(bits);
    if (type_ == ElementType::bf16) bits <<= 16;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return static_cast<double>(value);
  }

  void set(std::int64_t i, double value) {
    const auto near = static_cast<float>(rounded_to(type_, value));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &near, 4);
    if (type_ == ElementType::bf16) bits = std::isnan(near) ? 0x7fc0 : bits >> 16;
    if (type_ == ElementType::f16) bits = half_bits(static_cast<double>(near));
    std::memcpy(bytes_.data() + kGuard + static_cast<std::size_t>(i) * bytes_of(type_), &bits,
                bytes_of(type_));
  }

  std::vector<double> values() const {
    std::vector<double> out;
    for (std::int64_t i = 0; i < n_; ++i) out.push_back(at(i));
    return out;
  }

  bool guards_hold() const {
    const auto is_pattern = [](unsigned char byte) { return byte == kPattern; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_pattern) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), is_pattern);
  }
  /// The same bits, guards included.
  bool operator==(const TypedArray& other) const { return bytes_ == other.bytes_; }

 private:
  static constexpr std::ptrdiff_t kGuard = 128;
  static constexpr unsigned char kPattern = 0xff;

  const unsigned char* place(std::int64_t i) const {
    return bytes_.data() + kGuard + static_cast<std::size_t>(i) * bytes_of(type_);
  }
  static double half(std::uint32_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const int exponent = static_cast<int>((bits >> 10) & 31U);
    const auto fraction = static_cast<double>(bits & 1023U);
    if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
    return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
  }
  /// Of a value that is a half.
  static std::uint32_t half_bits(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
    if (std::isnan(value)) return 0x7e00U;
    if (std::isinf(value)) return sign | 0x7c00U;
    const double size = std::abs(value);
    if (size < 0x1p-14) return sign | static_cast<std::uint32_t>(std::ldexp(size, 24));
    const int exponent = std::ilogb(size);
    const auto fraction = static_cast<std::uint32_t>(std::ldexp(size, 10 - exponent)) - 1024U;
    return sign | static_cast<std::uint32_t>(exponent + 15) << 10 | fraction;
  }

  ElementType type_;
  std::int64_t n_;
  std::vector<unsigned char> bytes_;
};

inline constexpr ElementType kTypes[] = {ElementType::f32, ElementType::f16, ElementType::bf16};

inline const char* name_of(ElementType type) {
  return type == ElementType::f32 ? "f32" : type == ElementType::f16 ? "f16" : "bf16";
}

/// Random numbers between -reach and reach, always the same ones for one seed.
inline std::vector<double> random_values(std::int64_t n, std::uint32_t seed, double reach = 3) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (double& value : out) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = reach * (std::ldexp(static_cast<double>(state >> 11), -52) - 1);
  }
  return out;
}

/// How many threads kernels may use while it lives.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace isobar
