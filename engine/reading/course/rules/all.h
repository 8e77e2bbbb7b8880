#pragma once
// What each rule finds, whether a question asks for times, and what is checked of it; all.cpp explains them.
#include "course/rules.h"

namespace isobar {

using Find = Truth(const RuleInput& input);
Find best_truth, calculation_truth, curve_truth, direction_truth, first_apart_truth, fixed_truth,
    formula_truth, gain_truth, largest_truth, line_truth, loss_direction_truth, made_overlap_truth,
    made_truth, overlapping_track_truth, published_truth, ratio_truth, replica_distance_truth, value_truth;

using IsTimed = bool(const Question& question);
IsTimed is_timed_measure;

using Check = void(const Question& question);
Check check_best, check_calculation, check_curve, check_direction, check_first_apart, check_fixed,
    check_formula, check_largest, check_made, check_ratio, check_value;

}  // namespace isobar
