#pragma once
// Tensors as safetensors files hold them: by name.
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "comm/comm.h"
#include "fields/safetensors.h"
#include "model/parameters.h"

namespace isobar {

/// The elements of a piece that one of several ranks owns (Parameters::share_out).
struct Stretch {
  std::int64_t begin = -1;               ///< first one, of the piece as one row; -1 = all are here
  std::vector<std::int64_t> shape = {};  ///< the piece's
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;     ///< float32, float64, int32 or uint8, of any device
  Shard shard = {};      ///< which piece of the tensor of this name it is
  Stretch stretch = {};  ///< which part of that piece, [n]; n may be 0
};

/// Shape of the tensor that it is a piece of.
std::vector<std::int64_t> whole_shape(const NamedTensor& one);
/// Its type as files name it: "F32".
std::string type_in_file(const at::Tensor& tensor);
/// The name under which a file holds it: a stretch has its place in it (train/stored_tensors.h).
std::string name_in_file(const NamedTensor& one);

/// The parameters and the saved buffers under their names. The tensors are those of the model, not copies;
/// where ranks share them out, what this one owns.
std::vector<NamedTensor> named_tensors(const Parameters& parameters);

/// `own`, what belongs to this rank's values of `parameter` ([n], one each), under a name of its own.
NamedTensor named_state(const Parameters& parameters, const Parameter& parameter, const std::string& name,
                        const at::Tensor& own);

/// Views of Adam's moments, which are as long as what it updates, by parameter: "exp_avg.<parameter>" of
/// `mean`, then "exp_avg_sq.<parameter>" of `square`.
std::vector<NamedTensor> moments_by_parameter(const Parameters& parameters, const at::Tensor& mean,
                                              const at::Tensor& square);

/// The whole tensors of which the ranks of `comm` hold the pieces, on the host; in a group of one `tensors`
/// as they are. All ranks of it call this with the same names; only rank 0 gets something.
std::vector<NamedTensor> gathered(const std::vector<NamedTensor>& tensors, Comm& comm);

/// The pieces of which the ranks of `shares` own stretches, on their device; other tensors as they are. All
/// ranks of it call this with the same names; only rank 0 gets something.
std::vector<NamedTensor> with_all_stretches(const std::vector<NamedTensor>& tensors, Comm& shares);

/// Tensors as bytes in C order on the host; what is there already is not copied.
class HostTensors {
 public:
  explicit HostTensors(const std::vector<NamedTensor>& tensors);
  std::span<const TensorToWrite> to_write() const { return to_write_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<TensorToWrite> to_write_;
};

}  // namespace isobar
