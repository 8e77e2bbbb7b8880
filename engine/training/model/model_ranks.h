#pragma once
// What moves tensors between the ranks of one model. Layers hold a TensorParallel (model/tensor_parallel.h).
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "comm/comm.h"
#include "config/config.h"
#include "context/rank_messages.h"
#include "core/seam.h"

namespace isobar {

// Tracks of the timeline.
inline constexpr std::string_view kForwardTrack = "tp forward";
inline constexpr std::string_view kBackwardTrack = "tp backward";

class ModelRanks : public RankMessages, public std::enable_shared_from_this<ModelRanks> {
 public:
  ModelRanks(Comm& comm, const Config& config);

  bool shares_tokens() const { return shares_tokens_; }

  /// This rank's tokens, a view.
  at::Tensor own_tokens(const at::Tensor& x) const {
    const std::int64_t rows = x.size(0) / count();
    return x.narrow(0, index() * rows, rows);
  }

  // TensorParallel declares these; they are virtual for the sake of linking.
  virtual at::Tensor enter(const at::Tensor& x);
  virtual at::Tensor leave(const at::Tensor& x);
  virtual at::Tensor unite(const at::Tensor& x);

 private:
  bool shares_tokens_;
};

namespace seams {

// f and g of ranks that do not share tokens, as of TensorParallel::enter and leave.
using MovesTensor = at::Tensor(const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x);
extern constinit Seam<MovesTensor> enter;
extern constinit Seam<MovesTensor> leave;

}  // namespace seams
}  // namespace isobar
