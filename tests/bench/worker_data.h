#pragma once
// What workers make for both sides of a comparison: tensors of random numbers, in files.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/vit.h"

namespace isobar {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Normal random numbers, [shape] float32 on the CPU, always the same for one name: never zeros, on which
/// processors may run faster.
at::Tensor random_field(const std::string& name, const std::vector<std::int64_t>& shape);

VitShape shape_of(const nlohmann::ordered_json& sheet);

/// Writes the tensors as float32 to a safetensors file.
void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace isobar
