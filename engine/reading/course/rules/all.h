#pragma once
// What each rule finds, whether a question asks for times, and what is checked of it; all.cpp explains them.
#include "course/rules.h"

namespace isobar {

using Find = Truth(const RuleInput& input);
Find all_reduce_ratio_truth, all_reduce_sums_truth, bandwidth_falls_truth, best_truth, bound_by_truth,
    buffers_apart_truth, chunk_owner_truth, curve_truth, descent_best_truth, direction_truth, feedable_truth,
    fixed_truth, formula_truth, gain_truth, gradient_spread_truth, largest_class_truth, largest_gain_truth,
    line_truth, link_fit_truth, loss_direction_truth, made_no_gain_truth, made_overlap_truth,
    overlapping_track_truth, published_truth, quickest_truth, rank_paths_truth, ratio_truth,
    replica_distance_truth, ring_overtakes_truth, skill_truth, skips_truth, stable_rate_truth,
    step_overhead_truth, straggler_truth, value_truth;

using IsTimed = bool(const Question& question);
IsTimed is_timed_measure;

using Check = void(const Question& question);
Check check_bandwidth_falls, check_best, check_curve, check_descent_best, check_direction, check_fixed,
    check_formula, check_link_fit, check_quickest, check_ratio, check_skips, check_value;

}  // namespace isobar
