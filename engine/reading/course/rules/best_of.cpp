// Which of several runs is the best, and which are as good.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct Entrant {
  NamedRun run;
  Spread values;
  double number = 0;  ///< in its name: 4 of "w4"
  bool as_good = false;
};

double number_in(const RuleInput& input, const std::string& name) {
  const std::size_t begin = name.find_first_of("0123456789");
  const auto number = number_of<double>(std::string_view(name).substr(std::min(begin, name.size())));
  if (!number)
    wrong_question(input, fmt::format("the run \"{}\" has no number in its name", printable(name, 60)),
                   "a number is asked for: w4, bucket25");
  return *number;
}

/// Most samples a second; of any other field, which is of time or of bytes, least.
std::vector<Entrant> entrants_of(const RuleInput& input, const std::string& field) {
  std::vector<Entrant> out;
  for (const std::string& name : names_of_runs(input, "runs")) {
    Entrant one{timed_run(input, name), {}, 0, false};
    one.values = field == "samples_per_s" ? rates_of(one.run) : sums_of(one.run, {field});
    if (input.question.kind == AnswerKind::number) one.number = number_in(input, name);
    out.push_back(std::move(one));
  }
  if (out.size() < 2) wrong_question(input, "the best of one run is that run", "best_of needs two or more");
  std::sort(out.begin(), out.end(), [&](const Entrant& a, const Entrant& b) {
    return field == "samples_per_s" ? a.values.median() > b.values.median()
                                    : a.values.median() < b.values.median();
  });
  for (Entrant& one : out) {
    const bool is_best = &one == &out.front();
    one.as_good = is_best || compare_runs(out.front().run, out.front().values, one.run, one.values).is_same();
  }
  return out;
}

/// The numbers around that of the best between which all are as good: what lies beyond one that is worse is
/// no part of it.
void set_numbers(const Question& question, std::vector<Entrant> entrants, Truth& out) {
  const double best = entrants.front().number;
  out.number = in_unit(question, Quantity::count, best);
  std::sort(entrants.begin(), entrants.end(),
            [](const Entrant& a, const Entrant& b) { return a.number < b.number; });
  const auto at =
      std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& one) { return one.number == best; });
  auto low = at, high = at;
  while (low != entrants.begin() && std::prev(low)->as_good) --low;
  while (std::next(high) != entrants.end() && std::next(high)->as_good) ++high;
  out.low = low->number;
  out.high = high->number;
}

}  // namespace

void check_best_of(const Question& question) {
  if (question.kind == AnswerKind::number) in_unit(question, Quantity::count, 0);
}

Truth best_of_truth(const RuleInput& input) {
  const std::string field = input.argument("field", "samples_per_s");
  const std::vector<Entrant> entrants = entrants_of(input, field);
  const bool is_number = input.question.kind == AnswerKind::number;
  const auto name_of = [&](const Entrant& one) { return is_number ? figure_text(one.number) : one.run.name; };
  Truth out;
  std::vector<Entrant> as_good;
  std::copy_if(entrants.begin(), entrants.end(), std::back_inserter(as_good),
               [](const Entrant& one) { return one.as_good; });
  std::stable_sort(as_good.begin(), as_good.end(),
                   [](const Entrant& a, const Entrant& b) { return a.number < b.number; });
  for (const Entrant& one : as_good) out.accepted.push_back(name_of(one));
  if (is_number) set_numbers(input.question, entrants, out);
  const Entrant &best = entrants.front(), &worst = entrants.back();
  out.figures = {{"best", name_of(best)},
                 {"rate", figure_text(best.values.median())},
                 {"worst", name_of(worst)},
                 {"worst_rate", figure_text(worst.values.median())},
                 {"as_good", joined(out.accepted)}};
  const char* const unit = field == "samples_per_s" ? " samples/s" : "";
  out.text = fmt::format("{} with {}{}", out.figures["best"], out.figures["rate"], unit);
  if (out.accepted.size() > 1) out.text += "; the same, inside the spread: " + out.figures["as_good"];
  out.source = source_of(best.run);
  return out;
}

}  // namespace isobar
