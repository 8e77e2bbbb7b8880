// Stands before libtorch's header of this name in units with precompiled headers: headers of c10d, autograd
// and autocast include it, and with it all operators, 8 MB, for the few that stand here.
#pragma once
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Generator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_strided.h>
