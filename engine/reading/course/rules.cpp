#include "course/rules.h"

#include <algorithm>

namespace isobar {

std::string RuleInput::argument(std::string_view name, const std::string& otherwise) const {
  const auto found = question.with.find(std::string(name));
  return found == question.with.end() || found->second.empty() ? otherwise : found->second.front();
}

std::vector<std::string> RuleInput::arguments(std::string_view name) const {
  const auto found = question.with.find(std::string(name));
  return found == question.with.end() ? std::vector<std::string>{} : found->second;
}

const Rule* rule_named(std::string_view name) {
  const std::span<const Rule> rules = all_rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return name == rule.name; });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace isobar
