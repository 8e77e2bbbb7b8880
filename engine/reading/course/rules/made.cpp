// Runs of the learner's own: a figure of one within bounds, or of two by how many times one is better.
#include "course/rules/made.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A bound as figures have it, from the unit of texts.
double bound(const RuleInput& input, const MadeFigure& figure, const char* name, double otherwise) {
  const double of_unit = number_argument(input, name, otherwise);
  return figure.quantity == Quantity::time    ? 1e3 * of_unit
         : figure.quantity == Quantity::bytes ? 1e6 * of_unit
         : figure.quantity == Quantity::share ? 0.01 * of_unit
                                              : of_unit;
}

Truth truth_of_one(const RuleInput& input, const MadeFigure& figure, const NamedRun& run) {
  const Spread values = figure.of(run);
  const auto text = [&](double value) { return with_unit(figure.quantity, value); };
  const double value = values.empty() ? kNever : values.median();
  const double least = bound(input, figure, "least", -kNever), most = bound(input, figure, "most", kNever);
  Truth out;
  if (least <= value && value <= most) out.accepted = {"yes"};
  out.figures = {{"value", value == kNever ? "never" : text(value)},
                 {"wanted", most == kNever     ? "at least " + text(least)
                            : least == -kNever ? "at most " + text(most)
                                               : text(least) + " to " + text(most)}};
  out.text = fmt::format("{}: {}; {} is required", figure.name, out.figures["value"], out.figures["wanted"]);
  return out;
}

/// First the one that is to win: that with the settings of `wins`, else the better one.
void set_in_order(const RuleInput& input, const MadeFigure& figure, NamedRun& one, NamedRun& two) {
  const std::vector<std::string> differ = input.arguments("differ"), apart = keys_apart(one, two);
  if (apart.size() != 1 || !holds(differ, apart[0]))
    throw Cannot{fmt::format("`{}` and `{}` differ in {}: {} is to differ, and nothing else", one.name,
                             two.name, apart.empty() ? "nothing" : joined(apart), joined(differ, " or "))};
  const std::string wins = input.argument("wins");
  const auto is_to_win = [&](const NamedRun& run) { return has_setting(input.question, &run, wins); };
  if (!wins.empty() && is_to_win(one) == is_to_win(two))
    throw Cannot{"a run with " + wins + " and one without are needed"};
  const bool is_more = figure.of(two).median() > figure.of(one).median();
  if (wins.empty() ? is_more == figure.wants_more : is_to_win(two)) std::swap(one, two);
}

Truth truth_of_two(const RuleInput& input, const MadeFigure& figure, NamedRun one, NamedRun two) {
  set_in_order(input, figure, one, two);
  const Spread first = above_zero(figure.of(one)), second = above_zero(figure.of(two));
  const double times = number_argument(input, "times");
  const bool more = figure.wants_more;
  double ratio = more ? first.median() / second.median() : second.median() / first.median();
  bool is_better = true;
  std::string sentence = fmt::format("{:.2f} times", ratio);
  if (figure.is_timed) {  // what lies inside the spread is no difference
    const Compared found =
        more ? compare_runs(two, second, one, first) : compare_runs(one, first, two, second);
    ratio = found.ratio;
    is_better = found.direction == Direction::more;
    sentence = ratio_sentence(found);
  }
  Truth out;
  if (is_better && ratio >= times) out.accepted = {"yes"};
  out.figures = {{"first", with_unit(figure.quantity, first.median())},
                 {"second", with_unit(figure.quantity, second.median())},
                 {"ratio", fmt::format("{:.2f}", ratio)}};
  out.text = fmt::format("{}: {} in `{}`, {} in `{}`: {}; {} times is required", figure.name,
                         out.figures["first"], one.name, out.figures["second"], two.name, sentence, times);
  return out;
}

}  // namespace

bool has_setting(const Question& question, const NamedRun* run, const std::string& text) {
  const std::size_t at = text.find_first_of("<>=");
  const std::string key = text.substr(0, at);
  const char sign = at == std::string::npos ? ' ' : text[at];
  const std::string value = text.substr(std::min(text.size(), at + (sign == '=' ? 1 : 2)));
  const auto wanted = number_of<double>(value);
  if (key.find('.') == std::string::npos || value.empty() || (sign != '=' && !wanted))
    wrong_question(question, "\"" + printable(text, 60) + "\" is no setting", "train.steps>=100");
  const std::string own = run == nullptr ? "" : value_in(run->run->config, key);
  const auto is = number_of<double>(own);
  if (!is || !wanted) return own == value;
  return sign == '=' ? *is == *wanted : sign == '<' ? *is <= *wanted : *is >= *wanted;
}

void check_settings(const RuleInput& input, const NamedRun& run) {
  for (const std::string& text : input.arguments("keeps")) {
    if (!has_setting(input.question, &run, text)) throw Cannot{"`" + run.name + "` is no run with " + text};
  }
}

void check_kept(const RuleInput& input, const NamedRun& run, bool is_timed) {
  check_made(input, run);
  is_timed ? check_timed(run) : check_ended(run);
  check_settings(input, run);
}

void check_made_arguments(const Question& question) {
  const bool has_bound = !question.argument("least").empty() || !question.argument("most").empty();
  if (has_bound != question.argument("times").empty())
    wrong_question(question, "one run has bounds, two have a factor", "least or most, else times");
  check_made_settings(question);
}

void check_made_settings(const Question& question) {
  for (const char* const name : {"keeps", "wins"}) {
    for (const std::string& text : question.arguments(name)) has_setting(question, nullptr, text);
  }
}

Truth made_truth_of(const RuleInput& input, const MadeFigure& figure) {
  const std::vector<NamedRun> runs = made_runs(input, input.argument("times").empty() ? 1 : 2);
  for (const NamedRun& run : runs) check_kept(input, run, figure.is_timed);
  Truth out =
      runs.size() == 1 ? truth_of_one(input, figure, runs[0]) : truth_of_two(input, figure, runs[0], runs[1]);
  out.source = source_of(runs[0]);
  return out;
}

}  // namespace isobar
