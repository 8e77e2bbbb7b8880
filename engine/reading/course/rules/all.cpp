#include "course/rules/all.h"

namespace isobar {

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = {
      best_of_rule(),        bound_by_rule(),        curve_rule(),
      descent_best_rule(),   efficiency_rule(),      feedable_rule(),
      figure_rule(),         figure_ratio_rule(),    fixed_rule(),
      formula_rule(),        gradient_spread_rule(), hidden_share_rule(),
      largest_class_rule(),  largest_gain_rule(),    line_rule(),
      loss_direction_rule(), made_no_gain_rule(),    made_overlap_rule(),
      mean_rule(),           memory_ratio_rule(),    overlapping_track_rule(),
      published_rule(),      rank_paths_rule(),      replica_distance_rule(),
      share_rule(),          share_direction_rule(), skill_rule(),
      skips_rule(),          speed_direction_rule(), speed_ratio_rule(),
      stable_rate_rule(),    stage_gain_rule(),      step_overhead_rule(),
      straggler_rule(),      without_rule()};
  return rules;
}

}  // namespace isobar
