// One figure that a run reports of itself.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

constexpr double kUnknown = -1;

double epochs_of(const RunView& view) {
  return view.steps_per_epoch > 0
             ? static_cast<double>(view.summary.steps) / static_cast<double>(view.steps_per_epoch)
             : kUnknown;
}

double above_zero(double value) { return value > 0 ? value : kUnknown; }

struct RunFigure {
  const char* name;
  Quantity quantity;
  bool is_timed;  ///< it is one of speed, which other programs change
  double (*of)(const SteadyFigures& one);
};

/// -1 where the run does not report it.
constexpr RunFigure kRunFigures[] = {
    {"steps_per_epoch", Quantity::count, false,
     [](const SteadyFigures& one) { return above_zero(static_cast<double>(one.view.steps_per_epoch)); }},
    {"epochs", Quantity::count, false, [](const SteadyFigures& one) { return epochs_of(one.view); }},
    {"launches", Quantity::count, false, [](const SteadyFigures& one) { return one.last("launches"); }},
    {"comm_calls", Quantity::count, false, [](const SteadyFigures& one) { return one.mean("comm_calls"); }},
    {"read_mb_per_step", Quantity::bytes, false,
     [](const SteadyFigures& one) { return one.mean("read_bytes"); }},
    {"wire_mb_per_step", Quantity::bytes, false,
     [](const SteadyFigures& one) { return one.mean("wire_bytes"); }},
    {"samples_per_s", Quantity::rate, true,
     [](const SteadyFigures& one) { return above_zero(one.samples_per_s); }}};

const RunFigure& figure_named(const Question& question) {
  const std::string name = question.argument("name");
  std::vector<std::string> names;
  for (const RunFigure& one : kRunFigures) {
    if (name == one.name) return one;
    names.emplace_back(one.name);
  }
  wrong_question(question, fmt::format("the rule {} knows no \"{}\"", question.rule, printable(name, 60)),
                 did_you_mean(name, names, "one of: " + joined(names)));
}

Spread values_of(const RunFigure& figure, const NamedRun& run) {
  Spread out = figures_of(run, figure.of);
  if (out.empty()) throw Cannot{fmt::format("`{}` reports no {}", run.name, figure.name), run.name};
  return out;
}

bool is_timed_figure(const Question& question) { return figure_named(question).is_timed; }

void check_figure(const Question& question) { in_unit(question, figure_named(question).quantity, 0); }

void check_figure_ratio(const Question& question) {
  const RunFigure& figure = figure_named(question);
  if (figure.is_timed)
    wrong_question(question, fmt::format("{} makes no plain ratio", figure.name),
                   "speed_ratio has its spread");
  in_unit(question, Quantity::ratio, 0);
}

Truth figure_truth(const RuleInput& input) {
  const RunFigure& figure = figure_named(input.question);
  const std::string name = input.argument("run");
  const NamedRun run = figure.is_timed ? timed_run(input, name) : ended_run(input, name);
  Truth out = truth_of(input.question, figure.quantity, values_of(figure, run));
  out.figures = {{"value", figure_text(out.number)}};
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  out.source = source_of(run);
  return out;
}

Truth figure_ratio_truth(const RuleInput& input) {
  const RunFigure& figure = figure_named(input.question);
  const NamedRun base = ended_run(input, input.argument("base"));
  const NamedRun other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  const Spread one = values_of(figure, base), two = values_of(figure, other);
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

}  // namespace

Rule figure_rule() {
  static constexpr std::array kinds = {AnswerKind::number};
  static constexpr std::array needs = {"run", "name"};
  return {"figure",
          "one figure of a run: steps_per_epoch, epochs, launches, comm_calls, read_mb_per_step, "
          "wire_mb_per_step, samples_per_s",
          kinds,
          needs,
          {},
          answered<figure_truth>,
          is_timed_figure,
          check_figure};
}

Rule figure_ratio_rule() {
  static constexpr std::array kinds = {AnswerKind::number};
  static constexpr std::array needs = {"base", "other", "name"};
  return {"figure_ratio",
          "one figure of `other`, none of speed, over that of `base`; bytes are shown in MB",
          kinds,
          needs,
          {},
          answered<figure_ratio_truth>,
          nullptr,
          check_figure_ratio};
}

}  // namespace isobar
