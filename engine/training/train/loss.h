#pragma once
// The loss: relative_l2 of forecast and target. It lives beside the model, whose fused form takes it from the
// head's tokens.
#include "model/relative_l2.h"  // IWYU pragma: export
