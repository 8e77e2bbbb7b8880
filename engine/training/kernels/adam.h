#pragma once
// Adam over all parameters in one pass: reads weight, gradient and two moments, writes weight and moments, 28
// bytes a parameter. Plain, it is some ten passes (train/adam.cpp).
#include <cstdint>

#include "vector/instruction_set.h"

struct CUstream_st;

namespace isobar {

/// What changes from step to step, in memory of the device: a captured graph replays with new values, and the
/// host never has to know whether a step was skipped.
struct AdamControl {
  float learning_rate = 0;
  float steps = 0;          ///< t of this update, from 1
  float inverse_scale = 1;  ///< gradients are multiplied by it first: 1 / loss scale
  float skip = 0;           ///< not 0: nothing is changed (a gradient overflowed)
};

/// g = gradient inverse_scale; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
/// w -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps).
/// Kingma and Ba 2015, algorithm 1. All [n] float32; gradients are read only.
struct AdamStep {
  std::int64_t n = 0;
  float* weights = nullptr;
  const float* gradients = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  const AdamControl* control = nullptr;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
};

std::int64_t moved_bytes(const AdamStep& job);

void adam_cpu(const AdamStep& job, InstructionSet set = best_instruction_set());
void adam_cuda(const AdamStep& job, CUstream_st* stream);

}  // namespace isobar
