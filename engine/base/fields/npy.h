#pragma once
// NumPy's .npy files, float32 only in memory:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace isobar {

/// An array in C order: `values.size()` is the product of `shape`.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Reads a version 1 to 3 file of little-endian float32 or float64 (narrowed) in C order.
/// Refused (Error, exit code 2) with the reason: other types, Fortran order, objects, a header over 10,000
/// bytes or other than NumPy writes it, more than 4 GiB of values, or a shape whose product is not exactly
/// the bytes that follow; nothing is allocated for values before these checks.
NpyArray read_npy(const std::filesystem::path& path);

/// Parses the bytes of a whole file; `name` stands in errors.
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name);

/// Writes float32 in C order, whole or not at all.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values);

/// What stands in front of the values in the file that write_npy makes.
std::string npy_start(std::span<const std::int64_t> shape);

}  // namespace isobar
