// One figure that a run reports of itself.
#include "analyse/figure.h"

#include <fmt/format.h>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

const Figure& figure_asked(const Question& question) {
  const std::string name = question.argument("name");
  if (const Figure* const found = figure_named(name)) return *found;
  std::vector<std::string> names;
  for (const Figure& one : all_figures()) names.emplace_back(one.name);
  wrong_question(question, fmt::format("the rule {} knows no \"{}\"", question.rule, printable(name, 60)),
                 did_you_mean(name, names, "one of: " + joined(names)));
}

Spread values_asked(const Figure& figure, const NamedRun& run) {
  Spread out = figures_of(run, [&](const SteadyFigures& one) { return figure.of(one).value_or(-1); });
  if (out.empty()) throw Cannot{fmt::format("`{}` reports no {}", run.name, figure.name), run.name};
  return out;
}

}  // namespace

bool is_timed_figure(const Question& question) { return figure_asked(question).is_timed; }

void check_figure(const Question& question) { in_unit(question, figure_asked(question).quantity, 0); }

void check_figure_ratio(const Question& question) {
  const Figure& figure = figure_asked(question);
  if (figure.is_timed)
    wrong_question(question, fmt::format("{} makes no plain ratio", figure.name),
                   "speed_ratio has its spread");
  in_unit(question, Quantity::ratio, 0);
}

Truth figure_truth(const RuleInput& input) {
  const Figure& figure = figure_asked(input.question);
  const std::string name = input.argument("run");
  const NamedRun run = figure.is_timed ? timed_run(input, name) : ended_run(input, name);
  Truth out = truth_of(input.question, figure.quantity, values_asked(figure, run));
  out.figures = {{"value", figure_text(out.number)}};
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  out.source = source_of(run);
  return out;
}

Truth figure_ratio_truth(const RuleInput& input) {
  const Figure& figure = figure_asked(input.question);
  const NamedRun base = ended_run(input, input.argument("base"));
  const NamedRun other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  const Spread one = values_asked(figure, base), two = values_asked(figure, other);
  if (!(one.least() > 0)) throw Cannot{fmt::format("{} of `{}` is 0", figure.name, base.name), base.name};
  Truth out;
  out.number = in_unit(input.question, Quantity::ratio, two.median() / one.median());
  out.low = two.least() / one.most();
  out.high = two.most() / one.least();
  const auto shown = [&](double value) {
    return figure_text(figure.quantity == Quantity::bytes ? value * 1e-6 : value);
  };
  out.figures = {{"base_value", shown(one.median())},
                 {"other_value", shown(two.median())},
                 {"ratio", fmt::format("{:.2f}", out.number)}};
  out.text = fmt::format("{} in `{}`, {} in `{}`", out.figures["other_value"], other.name,
                         out.figures["base_value"], base.name);
  out.source = source_of(base);
  return out;
}

}  // namespace isobar
