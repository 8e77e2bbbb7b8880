// Stands before libtorch's header of this name in units with precompiled headers. Every header of an operator
// includes it, for one function of lists of tensors; with them come IValue and the dispatcher, whose
// templates each unit would instantiate anew: two thirds of the time of an empty one. A file that hands over
// lists of tensors (at::cat) includes <ATen/core/IListRef.h>.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
