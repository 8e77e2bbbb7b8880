#pragma once
// A scalar that is kept as a tensor. Format: tensorflow/core/framework/tensor.proto (field numbers).
#include <optional>
#include <string_view>

namespace isobar {

enum class TensorKind {
  scalar,
  several,    ///< a shape, a list or a content of more than one number, or of none
  no_number,  ///< text, or a type that is none of floats, doubles, halves, whole numbers and truth values
};

struct TfTensor {
  TensorKind kind = TensorKind::no_number;
  double value = 0;  ///< the value of a scalar
};

/// The bytes of a TensorProto. A scalar has no dimension, or dimensions of 1; it stands in tensor_content or
/// in the list of its type, packed or not. Throws protozero::exception for bytes that are none.
TfTensor read_tf_tensor(std::string_view bytes);

}  // namespace isobar
