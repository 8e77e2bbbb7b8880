// The largest of several formulas: no run is needed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// The largest first.
std::vector<KeyedValue> largest_entries(const Question& question) {
  constexpr double kApart = 0.01;
  std::vector<KeyedValue> out = keyed_values(question, "of");
  if (out.size() < 2) wrong_question(question, "largest compares two formulas or more", "of = [...]");
  std::ranges::stable_sort(out, [](const KeyedValue& a, const KeyedValue& b) { return a.value > b.value; });
  if (out[0].value - out[1].value <= kApart * std::fabs(out[0].value))
    wrong_question(question, fmt::format("{} and {} are the same within 1 %", out[0].key, out[1].key),
                   fmt::format("{:g} and {:g}", out[0].value, out[1].value));
  return out;
}

}  // namespace

Truth largest_truth(const RuleInput& input) {
  const std::vector<KeyedValue> entries = largest_entries(input.question);
  Truth out;
  out.accepted = {entries[0].key};
  for (const KeyedValue& one : entries) {
    out.figures[one.key] = figure_text(one.value);
    out.text += fmt::format("{}{} {}", out.text.empty() ? "" : ", ", one.key, figure_text(one.value));
  }
  out.figures["largest"] = entries[0].key;
  out.figures["value"] = figure_text(entries[0].value);
  out.figures["second"] = entries[1].key;
  out.figures["second_value"] = figure_text(entries[1].value);
  out.source = "by formula";
  return out;
}

void check_largest(const Question& question) {
  std::vector<std::string> keys;
  for (const KeyedValue& one : largest_entries(question)) keys.push_back(one.key);
  check_choice_keys(question, keys, /*all=*/true);
}

}  // namespace isobar
