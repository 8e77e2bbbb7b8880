#pragma once
// An ablation: what each of some settings is worth by itself, against a base that has the first value of all.
#include <vector>

#include "cli/measure_arguments.h"
#include "cli/measured_runs.h"

namespace isobar {

/// The base; each other value of each key alone; and, where there are several keys, all second values
/// together. Every key has at least two values.
std::vector<MeasuredPoint> one_off_points(const std::vector<SweepAxis>& axes);

/// The settings of a point as JSON: {"optim.lr": "1e-3", ...}.
Json keys_json(const MeasuredPoint& point);

/// A table, or with --json one JSON object: samples/s of each point, its ratio to the base, the spread,
/// whether it is the same as the base, and launches and moved bytes a step where the runs count them. Nothing
/// where no point has a rate.
void print_one_off(const MeasuredRuns& runs, const MeasureArguments& arguments);

}  // namespace isobar
