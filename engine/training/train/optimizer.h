#pragma once
// What the loop and a checkpoint need of an optimiser, whatever its arithmetic.
#include <cstdint>
#include <vector>

#include "train/named_tensors.h"

namespace isobar {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Updates made so far: t of Adam. May wait for the device where steps can be skipped there.
  virtual std::int64_t steps() const = 0;
  virtual void set_steps(std::int64_t steps) = 0;
  /// Views of its moments by parameter: "exp_avg.<parameter>" and "exp_avg_sq.<parameter>".
  virtual std::vector<NamedTensor> moments() const = 0;
};

}  // namespace isobar
