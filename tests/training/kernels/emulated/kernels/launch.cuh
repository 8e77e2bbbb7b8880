#pragma once
// Stands in for engine/training/kernels/launch.cuh where kernels run on a processor.
#include "kernels/emulated/device.h"
