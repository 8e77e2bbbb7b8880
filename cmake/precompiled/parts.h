// What a learner's file with tensors may include, compiled once (ISOBAR_PRECOMPILE): it is most of the time
// from a save to a verdict.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>
