#pragma once
// A backward pass in two: gradients of layers' inputs at once, those of their weights later (Qi et al. 2024,
// "Zero Bubble Pipeline Parallelism").
#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

namespace isobar {

/// What a backward pass left for later, layer by layer in its order: R rows, dW += dy^T x and db += the sum
/// of dy over rows. It keeps x and dy of each until `run`.
class WeightGradients {
 public:
  struct Layer {
    at::Tensor weight;  ///< the leaf
    at::Tensor bias;    ///< the leaf; undefined where the layer has none, or another one adds to it
    at::Tensor dy;      ///< [R, outputs]
    at::Tensor x;       ///< [R, inputs]
  };

  /// On any thread, none at the same time as another or as `run`: backward's.
  void put_off(Layer layer) { layers_.push_back(std::move(layer)); }
  /// Adds all of it to the gradients of the leaves, as backward would have done, and lets go of x and dy. On
  /// the current stream of the device, which backward ran on.
  void run();
  bool empty() const { return layers_.empty(); }

 private:
  std::vector<Layer> layers_;
};

/// While one lives, layers that this thread computes forward (fused/functions.h) leave gradients of their
/// weights to `later` when backward comes to them, whatever thread that is on. Layers whose input is made
/// again in backward do not.
class PutOff {
 public:
  explicit PutOff(const std::shared_ptr<WeightGradients>& later);
  ~PutOff();
  PutOff(const PutOff&) = delete;
  PutOff& operator=(const PutOff&) = delete;

  /// The innermost one's of this thread; null = there is none.
  static const std::shared_ptr<WeightGradients>& later();

 private:
  std::shared_ptr<WeightGradients> outer_;
};

}  // namespace isobar
