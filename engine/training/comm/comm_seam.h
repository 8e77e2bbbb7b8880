#pragma once
// The seam where ranks meet: what stands here sees each collective.
#include <ATen/core/Tensor.h>

#include <functional>

namespace isobar {

class CommCore;
class Work;
struct Collective;

/// A backward pass of this rank, whose gradients the others are to get.
struct BackwardPass {
  at::Tensor loss;
  at::Tensor gradients;                        ///< to which it adds
  bool last;                                   ///< the step's last backward pass
  std::function<void(const at::Tensor&)> run;  ///< from a loss
};

/// Stands where a rank does something that the others see, and does what was asked for. A mistake on purpose
/// takes its place.
class CommSeam {
 public:
  virtual ~CommSeam() = default;
  virtual Work start(CommCore& core, Collective job);
  virtual void backward(CommCore& core, const BackwardPass& pass);
};

}  // namespace isobar
