#pragma once
// A machine that a course must not be too slow for.
#include "formula/machine_rates.h"

namespace isobar {

/// Two cores without wide vectors, about half as fast as those of an AMD EPYC of 2021 in everything: what a
/// run costs is worked out with it where this machine was not measured, and the budget of each question is
/// held against it.
MachineRates slow_laptop_rates();

inline constexpr int kSlowLaptopProcessors = 2;

/// Until the first step of a run: program, libtorch, data and the first validation.
inline constexpr double kSlowLaptopStart_s = 4;

}  // namespace isobar
