#pragma once
// The types that activations have under mixed precision. Parameters, sums and statistics are float32 always.
#include <cstddef>

namespace isobar {

enum class ElementType { f32, f16, bf16 };  ///< IEEE single, IEEE half, bfloat16

constexpr std::size_t bytes_of(ElementType type) { return type == ElementType::f32 ? 4 : 2; }

}  // namespace isobar
