#pragma once
// The golden tensors that PyTorch made (tests/reference).
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <map>
#include <span>
#include <string>

#include "fields/safetensors.h"

namespace isobar {

/// All tensors of tests/reference/`name`; ctest runs in the project's folder.
inline std::map<std::string, at::Tensor> read_golden(const std::string& name) {
  const SafetensorsFile file = open_safetensors(std::filesystem::path("tests/reference") / name);
  std::map<std::string, at::Tensor> out;
  for (const TensorInFile& tensor : file.tensors) {
    at::Tensor value = at::empty(tensor.shape, tensor.dtype == "F64" ? at::kDouble : at::kFloat);
    read_tensor(file, tensor, std::span(static_cast<std::byte*>(value.mutable_data_ptr()), tensor.bytes));
    out[tensor.name] = value;
  }
  return out;
}

}  // namespace isobar
