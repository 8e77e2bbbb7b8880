#pragma once
// What computes bias and GELU on a CPU: our kernels, or what a learner wrote
// (lessons/05_fusion/exercise/in_lesson.h).
#include "kernels/bias_gelu.h"

namespace isobar {

struct BiasGeluForm {
  void (*forward)(const BiasGeluForward& job) = nullptr;
  void (*backward)(const BiasGeluBackward& job) = nullptr;
};

/// bias_gelu_cpu, unless another form was set.
const BiasGeluForm& bias_gelu_form();

/// For this process from now on. Not while something is computed.
void set_bias_gelu_form(const BiasGeluForm& form);

}  // namespace isobar
