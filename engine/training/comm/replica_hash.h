#pragma once
// Whether replicas are still equal to the bit: a hash of all weights, compared over the ranks.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/comm.h"

namespace isobar {

/// A float32 tensor and its name in files.
struct NamedValues {
  std::string name;
  at::Tensor values;
};

/// The sum over i of bits(values[i]) K_i mod 2^64, where bits are those of the float32 as a number
/// and every K_i is odd and another, so that a change of one value always changes it. Computed where
/// the values are, and the same on every device. `values` is float32 and contiguous.
std::uint64_t replica_hash(const at::Tensor& values);

/// `replica_hash` by operations on tensors, for a device; their 64-bit numbers wrap around alike.
std::uint64_t replica_hash_by_operations(const at::Tensor& values);

/// Compares `values` over the ranks of `comm`. Where they differ: Error (exit code 1, on all ranks) that
/// names the first of `tensors()` that differs, how many do, and with three ranks or more which rank is the
/// odd one. `when` is "step 100".
void compare_replicas(Comm& comm, const at::Tensor& values,
                      const std::function<std::vector<NamedValues>()>& tensors, const std::string& when);

/// Flips bit `bit` of value `index`, for the fault flip_bit.
void flip_bit(const at::Tensor& values, std::int64_t index, int bit);

}  // namespace isobar
