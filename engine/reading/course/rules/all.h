#pragma once
// Every rule, each beside its function in a file of its own idea.
#include "course/rules.h"

namespace isobar {

Rule all_reduce_ratio_rule();
Rule all_reduce_sums_rule();
Rule bandwidth_falls_rule();
Rule best_of_rule();
Rule bound_by_rule();
Rule buffers_apart_rule();
Rule chunk_owner_rule();
Rule curve_rule();
Rule descent_best_rule();
Rule efficiency_rule();
Rule feedable_rule();
Rule figure_rule();
Rule figure_ratio_rule();
Rule fixed_rule();
Rule formula_rule();
Rule gradient_spread_rule();
Rule hidden_share_rule();
Rule largest_class_rule();
Rule largest_gain_rule();
Rule last_bucket_rule();
Rule line_rule();
Rule link_bound_rule();
Rule link_fit_rule();
Rule loss_direction_rule();
Rule made_no_gain_rule();
Rule made_overlap_rule();
Rule mean_rule();
Rule memory_ratio_rule();
Rule overlap_direction_rule();
Rule overlapping_track_rule();
Rule published_rule();
Rule quickest_all_reduce_rule();
Rule rank_paths_rule();
Rule replica_distance_rule();
Rule ring_overtakes_rule();
Rule share_rule();
Rule share_direction_rule();
Rule skill_rule();
Rule skips_rule();
Rule speed_direction_rule();
Rule speed_ratio_rule();
Rule stable_rate_rule();
Rule stage_gain_rule();
Rule step_overhead_rule();
Rule straggler_rule();
Rule without_rule();

}  // namespace isobar
