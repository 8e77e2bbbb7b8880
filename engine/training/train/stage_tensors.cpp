#include "train/stage_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

/// The block whose tensor it is, of weights and of what belongs to them ("exp_avg.blocks.3.norm1.bias"); -1
/// in front of the blocks.
std::int64_t block_of(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  const std::size_t at = name.find(kBlocks);
  if (at == std::string::npos) {
    const bool embeds =
        name.find("pos_embed") != std::string::npos || name.find("patch_embed") != std::string::npos;
    return embeds ? -1 : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t block = 0;
  std::from_chars(name.data() + at + kBlocks.size(), name.data() + name.size(), block);
  return block;
}

/// A line each: name, type, sizes.
std::string lines_of(const std::vector<NamedTensor>& own) {
  std::string out;
  for (const NamedTensor& one : own)
    out += fmt::format("{} {} {}\n", one.name, type_in_file(one.tensor), joined(whole_shape(one), " "));
  return out;
}

}  // namespace

std::vector<TensorOfStage> tensors_of_stages(const std::vector<NamedTensor>& own, Comm& stages) {
  std::vector<TensorOfStage> out;
  const auto add = [&](TensorHead head, int rank, std::size_t place) {
    out.push_back({std::move(head), rank, place});
  };
  if (stages.size() == 1) {
    for (const NamedTensor& one : own)
      add({one.name, type_in_file(one.tensor), whole_shape(one)}, 0, out.size());
    return out;
  }
  const std::vector<std::string> all = stages.all_gather_text(lines_of(own), "tensors of stages");
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::istringstream lines(all[rank]);
    std::size_t place = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      TensorHead head;
      words >> head.name >> head.dtype;
      for (std::int64_t size = 0; words >> size;) head.shape.push_back(size);
      add(std::move(head), static_cast<int>(rank), place++);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const TensorOfStage& a, const TensorOfStage& b) {
    return block_of(a.head.name) < block_of(b.head.name);
  });
  return out;
}

std::vector<std::string> names_elsewhere(const std::vector<NamedTensor>& own, Comm& stages) {
  std::vector<std::string> out;
  for (const TensorOfStage& one : tensors_of_stages(own, stages)) {
    if (one.rank != stages.rank()) out.push_back(one.head.name);
  }
  return out;
}

at::Tensor brought_to_first(const TensorOfStage& one, const at::Tensor& own, Comm& stages,
                            c10::Device device) {
  const at::NoGradGuard no_grad;
  const bool is_here = stages.rank() == one.rank;
  if (stages.size() == 1 || one.rank == 0) return stages.rank() == 0 ? own.detach().cpu() : at::Tensor();
  if (one.head.dtype != "F32")
    throw Error("stages send each other tensors of float32", one.head.name + " is " + one.head.dtype, "",
                Exit::failed);
  const at::Tensor message = is_here
                                 ? own.detach().to(device).contiguous()
                                 : at::empty(one.head.shape, at::TensorOptions(at::kFloat).device(device));
  stages.broadcast(message, one.rank, "whole tensors").wait();
  return stages.rank() == 0 ? message.cpu() : at::Tensor();
}

std::vector<NamedTensor> from_all_stages(const std::vector<NamedTensor>& own, Comm& stages,
                                         c10::Device device) {
  if (stages.size() == 1) return own;
  std::vector<NamedTensor> out;
  for (const TensorOfStage& one : tensors_of_stages(own, stages)) {
    const at::Tensor mine = one.rank == stages.rank() ? own[one.place].tensor : at::Tensor();
    const at::Tensor whole = brought_to_first(one, mine, stages, device);
    if (stages.rank() == 0) out.push_back({one.head.name, whole});
  }
  return out;
}

}  // namespace isobar
