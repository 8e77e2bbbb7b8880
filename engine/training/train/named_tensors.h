#pragma once
// Tensors as safetensors files hold them: by name.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "fields/safetensors.h"
#include "model/parameters.h"

namespace isobar {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  ///< float32, float64, int32 or uint8, of any device
  Shard shard = {};   ///< which piece of the tensor of this name it is; files hold whole ones
};

/// The parameters and the saved buffers under their names. The tensors are those of the model, not copies.
std::vector<NamedTensor> named_tensors(const Parameters& parameters);

/// Views of Adam's moments, which are as long as the flat buffers, by parameter: "exp_avg.<parameter>" of
/// `mean`, then "exp_avg_sq.<parameter>" of `square`.
std::vector<NamedTensor> moments_by_parameter(const Parameters& parameters, const at::Tensor& mean,
                                              const at::Tensor& square);

/// The whole tensors of which the ranks of `comm` hold the pieces, on the host; in a group of one `tensors`
/// as they are. All ranks of it call this with the same names; only rank 0 gets something.
std::vector<NamedTensor> gathered(const std::vector<NamedTensor>& tensors, Comm& comm);

/// Tensors as bytes in C order on the host; what is there already is not copied.
class HostTensors {
 public:
  explicit HostTensors(const std::vector<NamedTensor>& tensors);
  std::span<const TensorToWrite> to_write() const { return to_write_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<TensorToWrite> to_write_;
};

/// Fills `tensors` from the file, pieces from their place in the whole tensor there. A tensor that is missing
/// or too much, or of another shape or type, is an Error (exit code 2) that names it; nothing is changed
/// then.
void load_tensors(const std::vector<NamedTensor>& tensors, const std::filesystem::path& path);

}  // namespace isobar
