#pragma once
// Stands in for engine/kernels/launch.cuh where kernels run on a processor.
#include "kernels/emulated/device.h"
