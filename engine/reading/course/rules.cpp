#include "course/rules.h"

#include <algorithm>

namespace isobar {

std::string RuleInput::argument(std::string_view name, const std::string& otherwise) const {
  return question.argument(name, otherwise);
}

std::vector<std::string> RuleInput::arguments(std::string_view name) const {
  return question.arguments(name);
}

bool is_timed(const Question& question) {
  const Rule* const rule = rule_named(question.rule);
  return rule != nullptr && rule->is_timed != nullptr && rule->is_timed(question);
}

const Rule* rule_named(std::string_view name) {
  const std::span<const Rule> rules = all_rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return name == rule.name; });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace isobar
