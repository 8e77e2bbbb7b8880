#pragma once
// Hooks that are called when a gradient is there.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace isobar {

/// Calls `ready(i)` each time autograd has added to the gradient of `leaves[i]`, on the thread that computes:
/// on a CPU the one that called backward. What `ready` throws leaves backward().
class GradientHooks {
 public:
  GradientHooks(const std::vector<at::Tensor>& leaves, std::function<void(std::size_t)> ready);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  std::size_t count() const;  ///< leaves

 private:
  struct Held;
  std::vector<Held> held_;
};

/// Whether somebody is called already when autograd has added to one of these gradients.
bool has_hooks(const std::vector<at::Tensor>& leaves);

}  // namespace isobar
