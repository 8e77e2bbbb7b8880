#include "train/named_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.h"

namespace isobar {
namespace {

std::vector<std::int64_t> shape_of(const at::Tensor& tensor) { return tensor.sizes().vec(); }

/// The values that the first `dims` dimensions count.
std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t dims) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dims), std::int64_t{1},
                         std::multiplies<>());
}

}  // namespace

std::vector<std::int64_t> whole_shape(const NamedTensor& one) {
  std::vector<std::int64_t> shape = one.stretch.begin < 0 ? shape_of(one.tensor) : one.stretch.shape;
  if (one.shard.count > 1) shape.at(static_cast<std::size_t>(one.shard.dim)) *= one.shard.count;
  return shape;
}

std::string type_in_file(const at::Tensor& tensor) {
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

namespace {

Stretch stretch_of(const Parameters& parameters, const Parameter& parameter) {
  return {.begin = parameters.own_stretch(parameter).in_parameter, .shape = shape_of(parameter.tensor)};
}

}  // namespace

std::string name_in_file(const NamedTensor& one) {
  if (one.stretch.begin < 0) return one.name;
  const std::int64_t end = one.stretch.begin + one.tensor.numel();
  const std::vector<std::int64_t>& shape = one.stretch.shape;
  // Where all dimensions in front of the cut one are 1, the piece is one stretch of the whole tensor.
  if (one.shard.count == 1 || product(shape, static_cast<std::size_t>(one.shard.dim)) == 1) {
    const std::int64_t before = one.shard.index * product(shape, shape.size());
    return fmt::format("{}[{}:{}]", one.name, before + one.stretch.begin, before + end);
  }
  return fmt::format("{}{{dim {}, {} of {}}}[{}:{}]", one.name, one.shard.dim, one.shard.index,
                     one.shard.count, one.stretch.begin, end);
}

std::vector<NamedTensor> named_tensors(const Parameters& parameters) {
  std::vector<NamedTensor> out;
  for (const Parameter& parameter : parameters.all())
    out.push_back(parameters.is_shared_out()
                      ? NamedTensor{parameter.name, parameters.own_values(parameter), parameter.shard,
                                    stretch_of(parameters, parameter)}
                      : NamedTensor{parameter.name, parameter.tensor, parameter.shard});
  for (const Buffer& buffer : parameters.buffers()) {
    if (buffer.saved) out.push_back({buffer.name, buffer.tensor});
  }
  return out;
}

NamedTensor named_state(const Parameters& parameters, const Parameter& parameter, const std::string& name,
                        const at::Tensor& own) {
  if (!parameters.is_shared_out()) return {name, own.view(parameter.tensor.sizes()), parameter.shard};
  return {name, own, parameter.shard, stretch_of(parameters, parameter)};
}

std::vector<NamedTensor> moments_by_parameter(const Parameters& parameters, const at::Tensor& mean,
                                              const at::Tensor& square) {
  std::vector<NamedTensor> out;
  for (const auto& [kind, flat] : {std::pair{"exp_avg.", mean}, std::pair{"exp_avg_sq.", square}}) {
    for (const Parameter& parameter : parameters.all()) {
      const OwnStretch own = parameters.own_stretch(parameter);
      out.push_back(
          named_state(parameters, parameter, kind + parameter.name, flat.narrow(0, own.in_own, own.count)));
    }
  }
  return out;
}

std::vector<NamedTensor> gathered(const std::vector<NamedTensor>& tensors, Comm& comm) {
  if (comm.size() == 1) return tensors;
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> out;
  for (const auto& [name, tensor, shard, stretch] : tensors) {
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

std::vector<NamedTensor> with_all_stretches(const std::vector<NamedTensor>& tensors, Comm& shares) {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> out;
  for (const auto& [name, tensor, shard, stretch] : tensors) {
    at::Tensor whole = tensor.detach();
    if (stretch.begin >= 0) {
      whole = at::zeros(stretch.shape, tensor.options().requires_grad(false));
      whole.view(-1).narrow(0, stretch.begin, tensor.numel()).copy_(tensor);
      // Every element is one rank's. As whole numbers, 0 added to it leaves the bits of each.
      if (shares.size() > 1)
        shares.all_reduce(whole.view(-1).view(at::kInt), Reduce::sum, "whole tensors").wait();
    }
    if (shares.rank() == 0) out.push_back({name, whole, shard});
  }
  return out;
}

HostTensors::HostTensors(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& one : tensors) {
    kept_.push_back(one.tensor.detach().cpu().contiguous());
    const auto* const bytes = static_cast<const std::byte*>(kept_.back().const_data_ptr());
    to_write_.push_back(
        {name_in_file(one), type_in_file(one.tensor), shape_of(one.tensor), {bytes, kept_.back().nbytes()}});
  }
}

}  // namespace isobar
