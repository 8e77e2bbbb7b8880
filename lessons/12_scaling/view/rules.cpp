// The table of all rules of lesson 12, and the largest of several formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "12_scaling/view/run_rules.h"
#include "course/rules/made.h"

namespace isobar::lesson_12 {
namespace {

using enum AnswerKind;

struct Entry {
  std::string key;
  double value = 0;
};

/// "KEY FORMULA" of each, the largest first.
std::vector<Entry> entries_in(const Question& question) {
  constexpr double kApart = 0.01;
  std::vector<Entry> out;
  for (const std::string& one : question.arguments("of")) {
    const std::size_t end = std::min(one.find(' '), one.size());
    out.push_back({one.substr(0, end), calculated(question, one.substr(std::min(end + 1, one.size())))});
  }
  if (out.size() < 2) wrong_question(question, "largest compares two formulas or more", "of = [...]");
  std::ranges::stable_sort(out, [](const Entry& a, const Entry& b) { return a.value > b.value; });
  if (out[0].value - out[1].value <= kApart * std::fabs(out[0].value))
    wrong_question(question, fmt::format("{} and {} are the same within 1 %", out[0].key, out[1].key),
                   fmt::format("{:g} and {:g}", out[0].value, out[1].value));
  return out;
}

Truth largest_truth(const RuleInput& input) {
  const std::vector<Entry> entries = entries_in(input.question);
  Truth out;
  out.accepted = {entries[0].key};
  for (const Entry& one : entries) {
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
  for (const Entry& one : entries_in(question)) keys.push_back(one.key);
  check_keys(question, keys);
}

// clang-format off
const LessonRules kRules{{
  {"largest",
   "the choice whose formula gives the most: of = [\"latency 2 * ({ranks} - 1) * 0.014\", \"jitter 3\"]",
   {choice}, {"of"}, {}, largest_truth, nullptr, check_largest},
  {"made_diverges",
   "a run of the learner's that ends in values that are not finite, or with training losses above where they began",
   {make}, {}, {"keeps"}, made_diverges_truth, nullptr, check_made_settings},
  {"made_overfits",
   "a run of the learner's with validation losses that rise three times in a row while its training loss falls",
   {make}, {}, {"keeps"}, made_overfits_truth, nullptr, check_made_settings},
  {"noise_beside",
   "the gradient noise scale of `other` beside that of `base`: zero, less, same (within 25 %), more",
   {choice}, {"base", "other"}, {}, noise_beside_truth, nullptr, check_noise_beside},
  {"to_target",
   "the run that first has a validation loss of `loss` by `of`: time, cost (time x ranks), samples; or never",
   {choice}, {"loss", "of"}, {"runs"}, to_target_truth, is_to_target_timed, check_to_target},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_12
