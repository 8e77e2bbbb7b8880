// The largest of several formulas: no run is needed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct LargestEntry {
  std::string key;
  double value = 0;
};

/// "KEY FORMULA" of each, the largest first.
std::vector<LargestEntry> largest_entries(const Question& question) {
  constexpr double kApart = 0.01;
  std::vector<LargestEntry> out;
  for (const std::string& one : question.arguments("of")) {
    const std::size_t end = std::min(one.find(' '), one.size());
    out.push_back({one.substr(0, end), calculated(question, one.substr(std::min(end + 1, one.size())))});
  }
  if (out.size() < 2) wrong_question(question, "largest compares two formulas or more", "of = [...]");
  std::ranges::stable_sort(out,
                           [](const LargestEntry& a, const LargestEntry& b) { return a.value > b.value; });
  if (out[0].value - out[1].value <= kApart * std::fabs(out[0].value))
    wrong_question(question, fmt::format("{} and {} are the same within 1 %", out[0].key, out[1].key),
                   fmt::format("{:g} and {:g}", out[0].value, out[1].value));
  return out;
}

}  // namespace

Truth largest_truth(const RuleInput& input) {
  const std::vector<LargestEntry> entries = largest_entries(input.question);
  Truth out;
  out.accepted = {entries[0].key};
  for (const LargestEntry& one : entries) {
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
  const std::vector<LargestEntry> entries = largest_entries(question);
  for (const LargestEntry& one : entries) {
    if (question.choice(one.key) == nullptr)
      wrong_question(question, "no choice has the key " + printable(one.key, 60), "one for each formula");
  }
  for (const QuestionChoice& choice : question.choices) {
    if (find_by(entries, &LargestEntry::key, choice.key) == nullptr)
      wrong_question(question, "the rule never accepts \"" + printable(choice.key, 60) + "\"",
                     "a choice for each formula");
  }
}

}  // namespace isobar
