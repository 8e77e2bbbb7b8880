#include "train/weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "fields/safetensors.h"

namespace isobar {
namespace {

std::vector<std::int64_t> shape_of(const at::Tensor& tensor) { return tensor.sizes().vec(); }

using Table = std::unordered_map<std::string_view, const TensorInFile*>;

void check(const Parameters& parameters, const SafetensorsFile& file, const Table& table) {
  for (const Parameter& parameter : parameters.all()) {
    const std::string where = file.path.string() + ": " + parameter.name;
    const auto found = table.find(parameter.name);
    if (found == table.end()) {
      throw Error(fmt::format("a tensor of the model is missing ({} in the file, {} in the model)",
                              table.size(), parameters.all().size()),
                  where, "is it the weights file of this model size?");
    }
    if (found->second->dtype != "F32") {
      throw Error("the tensor is " + found->second->dtype + ", F32 is wanted", where,
                  "save the weights as float32");
    }
    if (found->second->shape != shape_of(parameter.tensor)) {
      throw Error(
          fmt::format("the tensor has shape [{}], the model wants [{}]",
                      fmt::join(found->second->shape, ", "), fmt::join(shape_of(parameter.tensor), ", ")),
          where, "data.grid and model.* must be those the weights were trained with");
    }
  }
  std::unordered_set<std::string_view> known;
  for (const Parameter& parameter : parameters.all()) known.insert(parameter.name);
  for (const TensorInFile& tensor : file.tensors) {
    if (known.count(tensor.name) == 0) {
      throw Error("the file has a tensor that the model lacks",
                  file.path.string() + ": " + printable(tensor.name, 80),
                  "is it the weights file of this model size?");
    }
  }
}

}  // namespace

void save_weights(const Parameters& parameters, const std::filesystem::path& path) {
  std::vector<at::Tensor> copies;
  std::vector<TensorToWrite> tensors;
  for (const Parameter& parameter : parameters.all()) {
    copies.push_back(parameter.tensor.detach().cpu().contiguous());
    const std::span values(copies.back().const_data_ptr<float>(),
                           static_cast<std::size_t>(copies.back().numel()));
    tensors.push_back({parameter.name, "F32", shape_of(parameter.tensor), std::as_bytes(values)});
  }
  write_safetensors(path, tensors, {{"format", "pt"}, {"made_by", "isobar"}});
}

void load_weights(Parameters& parameters, const std::filesystem::path& path) {
  const SafetensorsFile file = open_safetensors(path);
  Table table;
  for (const TensorInFile& tensor : file.tensors) table[tensor.name] = &tensor;
  check(parameters, file, table);
  std::vector<at::Tensor> loaded;
  for (const Parameter& parameter : parameters.all()) {
    loaded.push_back(at::empty(parameter.tensor.sizes(), at::kFloat));
    const std::span values(loaded.back().mutable_data_ptr<float>(),
                           static_cast<std::size_t>(loaded.back().numel()));
    read_tensor(file, *table.at(parameter.name), std::as_writable_bytes(values));
  }
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    at::Tensor target = parameters.all()[i].tensor;
    target.copy_(loaded[i]);
  }
}

}  // namespace isobar
