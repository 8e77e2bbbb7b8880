#pragma once
// What an operator of libtorch is, from its schema and its name: whether it computes itself, which arguments
// it writes, and what kind of work it does.
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace at {
struct RecordFunction;
}

namespace isobar {

/// copy: moves or fills without arithmetic, casts included. pointwise: one value from its neighbours in
/// place. reduction: few values from many, softmax included. gemm: matrix products and convolutions.
enum class OperatorClass : std::size_t { gemm, attention, pointwise, norm, reduction, copy, other };
inline constexpr std::array<const char*, 7> kOperatorClasses = {"gemm",      "attention", "pointwise", "norm",
                                                                "reduction", "copy",      "other"};

/// By name alone, without namespace: "addmm", "native_layer_norm", "bias_gelu".
OperatorClass class_of_operator(std::string_view name);

struct OperatorFacts {
  std::string name;  ///< without "aten::"
  OperatorClass kind = OperatorClass::other;
  /// Made of other operators, all of which are seen by themselves; or it only makes, resizes or describes
  /// tensors. Such a call is never counted.
  bool never_counts = true;
  std::vector<bool> writes;      ///< by argument: it is changed in place
  std::vector<bool> only_write;  ///< by argument: its old values are not read
  bool writes_any = false;
};

/// Facts of the operator that `call` is; a range that is no operator never counts.
OperatorFacts facts_of(const at::RecordFunction& call);

/// "f32", "bf16", "f16", "i64", ...
std::string short_type_name(c10::ScalarType type);

}  // namespace isobar
