#include "course/rules.h"

#include <algorithm>

#include "course/rules/all.h"

namespace isobar {

std::string RuleInput::argument(std::string_view name, const std::string& otherwise) const {
  const auto found = question.with.find(std::string(name));
  return found == question.with.end() || found->second.empty() ? otherwise : found->second.front();
}

std::vector<std::string> RuleInput::arguments(std::string_view name) const {
  const auto found = question.with.find(std::string(name));
  return found == question.with.end() ? std::vector<std::string>{} : found->second;
}

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> out = {best_of_rule(),         bound_by_rule(),
                             curve_rule(),           efficiency_rule(),
                             feedable_rule(),        figure_rule(),
                             formula_rule(),         hidden_share_rule(),
                             largest_gain_rule(),    line_rule(),
                             loss_direction_rule(),  made_no_gain_rule(),
                             made_overlap_rule(),    mean_rule(),
                             memory_ratio_rule(),    overlapping_track_rule(),
                             published_rule(),       replica_distance_rule(),
                             share_rule(),           share_direction_rule(),
                             skill_rule(),           skips_rule(),
                             speed_direction_rule(), speed_ratio_rule(),
                             stage_gain_rule(),      straggler_rule(),
                             without_rule()};
    std::sort(out.begin(), out.end(),
              [](const Rule& a, const Rule& b) { return std::string_view(a.name) < b.name; });
    return out;
  }();
  return rules;
}

const Rule* rule_named(std::string_view name) {
  const std::span<const Rule> rules = all_rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return name == rule.name; });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace isobar
