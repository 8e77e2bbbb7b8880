// What is true of a figure: its value in one run, the ratio, direction or gain of two, the best of several.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/made.h"

namespace isobar {
namespace {

using Fields = std::vector<std::string>;

/// Shares that lie nearer to each other are the same, where `within` is no other number: no plot of a step
/// shows a hundredth of it.
constexpr double kSmallestShare = 0.01;

/// Cannot where the run does not report it.
Spread reported(const Figure& figure, const NamedRun& run) {
  Spread out = figures_of(run, [&](const SteadyFigures& one) { return figure.of(one).value_or(-1); });
  const std::string key = figure.asked_by;
  if (out.empty())
    throw Cannot{fmt::format("`{}` reports no {}{}", run.name, figure.name,
                             key.empty() ? "" : ", which " + key + " asks for"),
                 run.name};
  return out;
}

const Figure& figure_in(const Question& question, const std::string& name) {
  if (const Figure* const found = figure_named(name)) return *found;
  std::vector<std::string> names;
  for (const Figure& one : all_figures()) names.emplace_back(one.name);
  wrong_question(question, fmt::format("the rule {} takes no \"{}\"", question.rule, printable(name, 60)),
                 did_you_mean(name, names, "a time of a step, such as load_us, or one of: " + joined(names)));
}

/// What a question asks of each run: a figure, or mean times of the fields of a step.
class Measure {
 public:
  explicit Measure(const Question& question)
      : of_(question.arguments("of")), less_(question.arguments("less")), over_(question.arguments("over")) {
    if (of_.empty()) of_ = {"samples_per_s"};
    const bool is_plain = of_.size() == 1 && less_.empty() && over_.empty();
    figure_ = is_plain ? figure_named(of_.front()) : nullptr;
    if (figure_ != nullptr) return;
    for (const Fields* const fields : {&of_, &less_, &over_}) {
      for (const std::string& field : *fields) {
        if (!field.ends_with("_us")) figure_in(question, field);
      }
    }
  }

  Quantity quantity() const {
    return figure_ != nullptr ? figure_->quantity : over_.empty() ? Quantity::time : Quantity::share;
  }
  bool is_timed() const { return figure_ == nullptr || figure_->made == Made::timed; }
  bool wants_more() const { return figure_ != nullptr && figure_->better == Better::more; }
  std::string name() const { return figure_ != nullptr ? figure_->name : joined(of_, " + "); }
  const Fields& part() const { return of_; }
  /// What the part is taken from, or is a share of; empty where it stands for itself.
  const Fields& whole() const { return less_.empty() ? over_ : of_; }

  NamedRun run(const RuleInput& input, const std::string& name) const {
    return is_timed() ? timed_run(input, name) : ended_run(input, name);
  }
  /// Cannot where the run does not report it.
  Spread of(const NamedRun& run) const {
    if (figure_ != nullptr) return reported(*figure_, run);
    for (const Fields* const fields : {&of_, &less_})
      sums_of(run, *fields);  // refuses fields that are not there
    if (!over_.empty() && !(sums_of(run, over_).least() > 0))
      throw Cannot{fmt::format("`{}` recorded no time of {}", run.name, joined(over_, " + ")), run.name};
    return figures_of(run, [&](const SteadyFigures& one) {
      const double left = std::max(0.0, sum_of(one, of_) - sum_of(one, less_));
      return over_.empty() ? left : left / sum_of(one, over_);
    });
  }
  std::string source(const NamedRun& run) const {
    return figure_ != nullptr && figure_->made == Made::planned ? "by formula" : source_of(run);
  }

 private:
  Fields of_, less_, over_;
  const Figure* figure_ = nullptr;  ///< null: fields
};

/// Where texts of a question take the figure from: "exposed_ms" of exposed_us, "message_mb" of message_bytes.
std::string placeholder_of(const Figure& figure) {
  const std::string name = figure.name;
  if (figure.quantity == Quantity::time) return name.substr(0, name.rfind("_us")) + "_ms";
  return figure.quantity == Quantity::bytes ? name.substr(0, name.rfind("_bytes")) + "_mb" : name;
}

/// The key of the last class whose least value, "half 0.25", is not above `value`; "" for none.
std::string class_of(const RuleInput& input, double value) {
  std::string out;
  for (const std::string& one : input.arguments("classes")) {
    const std::vector<std::string> words = split(one, ' ');
    const auto least = words.size() == 2 ? number_of<double>(words[1]) : std::nullopt;
    if (!least)
      wrong_question(input, "\"" + printable(one, 60) + "\" is no class", "\"half 0.25\": from 0.25 on");
    if (value >= *least) out = words[0];
  }
  return out;
}

struct Pair {
  NamedRun base, other;
  Spread of_base, of_other;
};

/// The best of the question's runs, `but` left out.
NamedRun best_but(const RuleInput& input, const Measure& measure, const std::string& but) {
  NamedRun out;
  const double sign = measure.wants_more() ? 1 : -1;
  for (const NeededRun& wanted : input.question.runs) {
    if (wanted.name == but) continue;
    const NamedRun run = measure.run(input, wanted.name);
    if (out.run == nullptr || sign * measure.of(run).median() > sign * measure.of(out).median()) out = run;
  }
  if (out.run == nullptr) wrong_question(input, "there is no run to be the best", "it needs two or more");
  return out;
}

Pair pair_of(const RuleInput& input, const Measure& measure) {
  const std::string base = input.argument("base");
  Pair out;
  out.other = measure.run(input, input.argument("other"));
  out.base = base == "best" && input.question.run(base) == nullptr ? best_but(input, measure, out.other.name)
                                                                   : measure.run(input, base);
  out.of_base = measure.of(out.base);
  out.of_other = measure.of(out.other);
  check_one_source(out.base, out.other);
  return out;
}

Truth truth_of_pair(const Measure& measure, const Pair& pair) {
  const double base = pair.of_base.median(), other = pair.of_other.median();
  Truth out;
  out.figures = {{"base", pair.base.name},
                 {"base_value", number_text(measure.quantity(), base)},
                 {"other_value", number_text(measure.quantity(), other)}};
  out.text = fmt::format("{}: {} in `{}`, {} in `{}`", measure.name(), with_unit(measure.quantity(), base),
                         pair.base.name, with_unit(measure.quantity(), other), pair.other.name);
  out.source = measure.source(pair.base);
  return out;
}

Compared compared(const Pair& pair) {
  return compare_runs(pair.base, above_zero(pair.of_base), pair.other, above_zero(pair.of_other));
}

struct Ratio {
  double value, low, high;
};

bool is_percent(const Question& question) { return question.unit == "%"; }

/// Inside the spread a timed factor is 1. Counted figures have no noise: what lies between their repeats is
/// right.
Ratio ratio_of(const Question& question, const Measure& measure, const Pair& pair, Truth& out) {
  if (measure.is_timed()) {
    const Compared found = compared(pair);
    out.text += ": " + ratio_sentence(found);
    return {found.is_same() && !is_percent(question) ? 1 : found.ratio, found.low, found.high};
  }
  const Spread &one = pair.of_base, &two = pair.of_other;
  if (!(one.least() > 0))
    throw Cannot{fmt::format("{} of `{}` is 0", measure.name(), pair.base.name), pair.base.name};
  return {two.median() / one.median(), two.least() / one.most(), two.most() / one.least()};
}

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

std::vector<Entrant> entrants_of(const RuleInput& input, const Measure& measure) {
  std::vector<Entrant> out;
  for (const std::string& name : names_of_runs(input, "runs")) {
    Entrant one;
    one.run = measure.run(input, name);
    one.values = measure.of(one.run);
    if (input.question.kind == AnswerKind::number) one.number = number_in(input, name);
    out.push_back(std::move(one));
  }
  if (out.size() < 2) wrong_question(input, "the best of one run is that run", "best needs two or more");
  std::ranges::sort(out, [&](const Entrant& a, const Entrant& b) {
    return measure.wants_more() ? a.values.median() > b.values.median()
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
  std::ranges::sort(entrants, [](const Entrant& a, const Entrant& b) { return a.number < b.number; });
  const auto at = std::ranges::find_if(entrants, [&](const Entrant& one) { return one.number == best; });
  auto low = at, high = at;
  while (low != entrants.begin() && std::prev(low)->as_good) --low;
  while (std::next(high) != entrants.end() && std::next(high)->as_good) ++high;
  out.low = low->number;
  out.high = high->number;
}

}  // namespace

bool is_timed_measure(const Question& question) { return Measure(question).is_timed(); }

void check_value(const Question& question) {
  in_unit(question, Measure(question).quantity(), 0);
  for (const std::string& name : question.arguments("beside")) figure_in(question, name);
  const bool has_classes = !question.arguments("classes").empty();
  if (has_classes != (question.kind == AnswerKind::choice))
    wrong_question(question, "a choice is graded by classes, a number without",
                   "classes = [\"none 0\", \"half 0.25\"]: each from its value on");
}

void check_ratio(const Question& question) {
  const Measure measure(question);
  in_unit(question, is_percent(question) ? Quantity::share : Quantity::ratio, 0);
}

void check_direction(const Question& question) { const Measure measure(question); }

void check_made(const Question& question) {
  const Measure measure(question);
  check_made_arguments(question);
}

void check_best(const Question& question) {
  const Measure measure(question);
  if (question.kind == AnswerKind::number) in_unit(question, Quantity::count, 0);
  if (const std::string take = question.argument("take"); !take.empty() && take != "smallest")
    wrong_question(question, "best takes all that are as good, or the smallest", "take = \"smallest\"");
}

Truth value_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const NamedRun run = measure.run(input, input.argument("run"));
  const Spread values = measure.of(run);
  Truth out;
  if (input.question.kind == AnswerKind::number)
    out = truth_of(input.question, measure.quantity(), values);
  else
    out.accepted = {class_of(input, values.median())};
  out.figures["value"] = number_text(measure.quantity(), values.median());
  out.text = measure.name() + ": " + with_unit(measure.quantity(), values.median());
  if (!measure.whole().empty()) {
    const double part_us = sums_of(run, measure.part()).median(),
                 whole_us = sums_of(run, measure.whole()).median();
    out.figures["part_ms"] = ms_text(part_us);
    out.figures["whole_ms"] = ms_text(whole_us);
    out.text += fmt::format(" of {} ms", out.figures["whole_ms"]);
  }
  for (const std::string& name : input.arguments("beside")) {
    const Figure& figure = figure_in(input.question, name);
    const double value = reported(figure, run).median();
    out.figures[placeholder_of(figure)] = number_text(figure.quantity, value);
    out.text += fmt::format(", {}: {}", figure.name, with_unit(figure.quantity, value));
  }
  out.source = measure.source(run);
  return out;
}

Truth made_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const Figure* const figure = figure_named(measure.name());
  return made_truth_of(
      input, {figure != nullptr ? figure->head : measure.name(), measure.quantity(), measure.is_timed(),
              measure.wants_more(), [&](const NamedRun& run) { return measure.of(run); }});
}

Truth ratio_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const Pair pair = pair_of(input, measure);
  Truth out = truth_of_pair(measure, pair);
  const Ratio ratio = ratio_of(input.question, measure, pair, out);
  const bool percent = is_percent(input.question);
  const auto shown = [&](double value) {
    return in_unit(input.question, percent ? Quantity::share : Quantity::ratio, value);
  };
  const double low = shown(std::min(ratio.value, ratio.low)), high = shown(std::max(ratio.value, ratio.high));
  set_interval(out, shown(ratio.value), low, high);
  const auto text = [&](double value) {
    return percent ? fmt::format("{:.0f}", 100 * value) : fmt::format("{:.2f}", value);
  };
  out.figures.insert({{"ratio", text(ratio.value)}, {"low", text(ratio.low)}, {"high", text(ratio.high)}});
  return out;
}

Truth direction_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const Pair pair = pair_of(input, measure);
  Truth out = truth_of_pair(measure, pair);
  const Compared found = compared(pair);
  const double smallest =
      measure.quantity() == Quantity::share ? number_argument(input, "within", kSmallestShare) : 0;
  const bool is_same =
      found.is_same() || std::fabs(pair.of_other.median() - pair.of_base.median()) < smallest;
  out.accepted = {is_same ? "same" : direction_word(found)};
  out.text += is_same ? ": the same" : "";
  return out;
}

Truth gain_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const Pair pair = pair_of(input, measure);
  compare_runs(pair.base, pair.of_base, pair.other, pair.of_other);  // refuses too few repeats
  const double step_us = sums_of(pair.other, {"step_us"}).median();
  if (!(step_us > 0)) throw Cannot{"`" + pair.other.name + "` recorded no time of step_us", pair.other.name};
  const double gain_us = pair.of_other.median() - pair.of_base.median();
  // No share below 0 can be typed: what takes less than before gains nothing.
  const auto share = [&](double us) {
    return in_unit(input.question, Quantity::share, std::max(0.0, us / step_us));
  };
  Truth out;
  set_interval(out, share(gain_us), share(pair.of_other.least() - pair.of_base.most()),
               share(pair.of_other.most() - pair.of_base.least()));
  out.figures = {{"gain_ms", ms_text(gain_us)},
                 {"step_ms", ms_text(step_us)},
                 {"gain_percent", percent_text(gain_us / step_us)}};
  out.text = fmt::format("{} ms of a step of {} ms: {} %", out.figures["gain_ms"], out.figures["step_ms"],
                         out.figures["gain_percent"]);
  out.source = source_of(pair.base);
  return out;
}

Truth best_truth(const RuleInput& input) {
  const Measure measure(input.question);
  const std::vector<Entrant> entrants = entrants_of(input, measure);
  const bool is_number = input.question.kind == AnswerKind::number;
  const auto name_of = [&](const Entrant& one) { return is_number ? figure_text(one.number) : one.run.name; };
  std::vector<Entrant> as_good;
  std::ranges::copy_if(entrants, std::back_inserter(as_good), [](const Entrant& one) { return one.as_good; });
  std::ranges::stable_sort(as_good, [](const Entrant& a, const Entrant& b) { return a.number < b.number; });
  Truth out;
  for (const Entrant& one : as_good) out.accepted.push_back(name_of(one));
  if (is_number) set_numbers(input.question, entrants, out);
  const Entrant &best = entrants.front(), &worst = entrants.back();
  out.figures = {{"best", name_of(best)},
                 {"best_value", number_text(measure.quantity(), best.values.median())},
                 {"worst", name_of(worst)},
                 {"worst_value", number_text(measure.quantity(), worst.values.median())},
                 {"as_good", joined(out.accepted)}};
  out.text =
      fmt::format("{} with {}", out.figures["best"], with_unit(measure.quantity(), best.values.median()));
  if (out.accepted.size() > 1) out.text += "; the same, inside the spread: " + out.figures["as_good"];
  out.source = source_of(best.run);
  if (!input.argument("take").empty() && is_number) {
    out.accepted.resize(1);
    out.number = out.low = out.high = in_unit(input.question, Quantity::count, as_good.front().number);
  }
  return out;
}

}  // namespace isobar
