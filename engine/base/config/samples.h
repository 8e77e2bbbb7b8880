#pragma once
#include "config/load.h"

namespace isobar {

/// A batch for every rank, of training and of validation, where the configuration gives the number of
/// samples; Error (exit code 2) else. A sweep over ranks does without this check: to it such a point is a
/// gap.
void check_enough_samples(const LoadedConfig& loaded);

}  // namespace isobar
