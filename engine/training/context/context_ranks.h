#pragma once
// Attention over the tokens of several ranks, and what goes with it. The model holds a ContextParallel
// (model/context_parallel.h), which states what these do.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "context/rank_messages.h"
#include "core/token_shares.h"

namespace isobar {

/// All of it is virtual for the sake of linking: a program of one rank has none of it.
class ContextRanks {
 public:
  virtual ~ContextRanks() = default;

  virtual int count() const = 0;
  virtual int index() const = 0;
  virtual TokenShare own(std::int64_t tokens) const = 0;

  virtual at::Tensor share(const at::Tensor& x, std::int64_t batch) = 0;
  virtual at::Tensor unite(const at::Tensor& x, std::int64_t batch) = 0;
  virtual at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;

  /// The sum over the ranks, written to `x` itself (contiguous, float32).
  virtual void all_reduce(const at::Tensor& x, std::string_view what) = 0;

  virtual TensorParallelFigures take_figures() = 0;
  virtual std::int64_t waited_us() const = 0;
};

/// Null for one rank without a window. Errors: those of ContextParallel.
std::shared_ptr<ContextRanks> make_context_ranks(Comm& comm, const Config& config);

}  // namespace isobar
