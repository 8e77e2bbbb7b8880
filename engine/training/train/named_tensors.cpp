#include "train/named_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

std::vector<std::int64_t> shape_of(const at::Tensor& tensor) { return tensor.sizes().vec(); }

/// Shape of the tensor that it is a piece of.
std::vector<std::int64_t> whole_shape(const NamedTensor& one) {
  std::vector<std::int64_t> shape = shape_of(one.tensor);
  if (one.shard.count > 1) shape.at(static_cast<std::size_t>(one.shard.dim)) *= one.shard.count;
  return shape;
}

at::Tensor piece_of(const at::Tensor& whole, const Shard& shard) {
  if (shard.count == 1) return whole;
  const std::int64_t length = whole.size(shard.dim) / shard.count;
  return whole.narrow(shard.dim, shard.index * length, length);
}

std::string type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "F32";
    case at::kDouble:
      return "F64";
    case at::kInt:
      return "I32";
    case at::kByte:
      return "U8";
    default:
      break;
  }
  throw Error("tensors of this type are not written to files", at::toString(tensor.scalar_type()), "",
              Exit::failed);
}

using Table = std::map<std::string, const TensorInFile*>;

void check(const std::vector<NamedTensor>& tensors, const SafetensorsFile& file, const Table& table) {
  std::set<std::string> known;
  for (const NamedTensor& one : tensors) {
    const auto& [name, tensor, shard] = one;
    known.insert(name);
    const std::string where = file.path.string() + ": " + name;
    const auto found = table.find(name);
    if (found == table.end()) {
      throw Error(fmt::format("a tensor of the model is missing ({} in the file, {} in the model)",
                              table.size(), tensors.size()),
                  where, "is it the weights file of this model size?");
    }
    if (found->second->dtype != type_of(tensor)) {
      throw Error(fmt::format("the tensor is {}, {} is wanted", found->second->dtype, type_of(tensor)), where,
                  "save the weights as float32");
    }
    if (found->second->shape != whole_shape(one)) {
      throw Error(fmt::format("the tensor has shape [{}], the model wants [{}]", joined(found->second->shape),
                              joined(whole_shape(one))),
                  where, "data.grid and model.* must be those the weights were trained with");
    }
  }
  for (const auto& [name, tensor] : table) {
    if (known.count(name) != 0) continue;
    throw Error("the file has a tensor that the model lacks", file.path.string() + ": " + printable(name),
                "is it the weights file of this model size?");
  }
}

}  // namespace

std::vector<NamedTensor> named_tensors(const Parameters& parameters) {
  std::vector<NamedTensor> out;
  for (const Parameter& parameter : parameters.all())
    out.push_back({parameter.name, parameter.tensor, parameter.shard});
  for (const Buffer& buffer : parameters.buffers()) {
    if (buffer.saved) out.push_back({buffer.name, buffer.tensor});
  }
  return out;
}

std::vector<NamedTensor> moments_by_parameter(const Parameters& parameters, const at::Tensor& mean,
                                              const at::Tensor& square) {
  std::vector<NamedTensor> out;
  for (const auto& [kind, flat] : {std::pair{"exp_avg.", mean}, std::pair{"exp_avg_sq.", square}}) {
    for (const Parameter& parameter : parameters.all()) {
      const at::Tensor part = flat.narrow(0, parameter.flat_begin, parameter.tensor.numel());
      out.push_back({kind + parameter.name, part.view(parameter.tensor.sizes()), parameter.shard});
    }
  }
  return out;
}

std::vector<NamedTensor> gathered(const std::vector<NamedTensor>& tensors, Comm& comm) {
  if (comm.size() == 1) return tensors;
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> out;
  for (const auto& [name, tensor, shard] : tensors) {
    at::Tensor whole = tensor;
    if (shard.count > 1) {
      const at::Tensor mine = tensor.detach().contiguous();
      std::vector<std::int64_t> shape = shape_of(mine);
      shape.insert(shape.begin(), comm.size());
      const at::Tensor all = at::empty(shape, mine.options());
      comm.all_gather(all.view(-1), mine.view(-1), "whole tensors").wait();
      const std::vector<at::Tensor> pieces = all.unbind(0);
      whole = at::concat(pieces, shard.dim);
    }
    if (comm.rank() == 0) out.push_back({name, whole.detach().cpu()});
  }
  return out;
}

HostTensors::HostTensors(const std::vector<NamedTensor>& tensors) {
  for (const auto& [name, tensor, shard] : tensors) {
    kept_.push_back(tensor.detach().cpu().contiguous());
    const auto* const bytes = static_cast<const std::byte*>(kept_.back().const_data_ptr());
    to_write_.push_back({name, type_of(tensor), shape_of(tensor), {bytes, kept_.back().nbytes()}});
  }
}

void load_tensors(const std::vector<NamedTensor>& tensors, const std::filesystem::path& path) {
  const SafetensorsFile file = open_safetensors(path);
  Table table;
  for (const TensorInFile& tensor : file.tensors) table[tensor.name] = &tensor;
  check(tensors, file, table);
  std::vector<at::Tensor> loaded;
  for (const NamedTensor& one : tensors) {
    const at::Tensor whole = at::empty(whole_shape(one), one.tensor.scalar_type());
    auto* const bytes = static_cast<std::byte*>(whole.mutable_data_ptr());
    read_tensor(file, *table.at(one.name), {bytes, whole.nbytes()});
    loaded.push_back(piece_of(whole, one.shard).contiguous());
  }
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    at::Tensor target = tensors[i].tensor;
    target.copy_(loaded[i]);
  }
}

}  // namespace isobar
