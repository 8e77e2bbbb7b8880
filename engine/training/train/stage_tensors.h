#pragma once
// Tensors of a model that is cut by depth (mesh.pp): each stage's ranks have some of them, and files hold
// all.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "fields/safetensors.h"
#include "train/named_tensors.h"

namespace isobar {

struct TensorOfStage {
  TensorHead head = {};   ///< the whole tensor's
  int rank = 0;           ///< in the group of the stages: who has it, or its pieces
  std::size_t place = 0;  ///< among that rank's
};

/// What the ranks of `stages` have between them, from the embedding to the head: by blocks, and those of a
/// block in the order of their rank. All of them call it; what a group of one has stays in its order.
std::vector<TensorOfStage> tensors_of_stages(const std::vector<NamedTensor>& own, Comm& stages);

/// Names of those that other ranks of `stages` have. All of them call it.
std::vector<std::string> names_elsewhere(const std::vector<NamedTensor>& own, Comm& stages);

/// One of them, float32, from the rank that has it (`own`: all of it) to rank 0, on the host; the others get
/// an undefined one. Messages are made on `device`.
at::Tensor brought_to_first(const TensorOfStage& one, const at::Tensor& own, Comm& stages,
                            c10::Device device);

/// All of them, in that order, on rank 0, and none on the others; in a group of one `own` as it is.
std::vector<NamedTensor> from_all_stages(const std::vector<NamedTensor>& own, Comm& stages,
                                         c10::Device device);

}  // namespace isobar
