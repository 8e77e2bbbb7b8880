#pragma once
// What a forward pass depends on beside its inputs: random numbers, and the types that autocast takes.
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <vector>

namespace isobar {

class ForwardState {
 public:
  /// Takes the state of this thread as it is now. `draws`: random numbers will be drawn, so that the state of
  /// the CPU's generator (5 KB), and of the device's, is kept.
  ForwardState(c10::Device device, bool draws);

 private:
  friend class RestoredState;
  struct Autocast {
    bool enabled = false, caches = true;
    c10::ScalarType type = c10::ScalarType::Float;
  };
  void set_random() const;
  void set_autocast() const;

  c10::Device device_;
  std::vector<at::Tensor> random_;  ///< the CPU's, and another device's; empty where nothing is drawn
  Autocast autocast_;
};

/// While one lives the state is in force: the same numbers are drawn, in the same types. Behind it all is as
/// it was in front of it.
class RestoredState {
 public:
  explicit RestoredState(const ForwardState& state);
  ~RestoredState();
  RestoredState(const RestoredState&) = delete;
  RestoredState& operator=(const RestoredState&) = delete;

 private:
  const ForwardState& state_;
  ForwardState before_;
  bool draws_, casts_;
};

}  // namespace isobar
