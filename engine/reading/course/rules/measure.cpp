#include "course/rules/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace isobar {

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

Measure::Measure(const Question& question)
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

std::string Measure::name() const { return figure_ != nullptr ? figure_->name : joined(of_, " + "); }

Spread Measure::of(const NamedRun& run) const {
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

Spread above_zero(const Spread& values) {
  std::vector<double> out;
  for (const double value : values.values) out.push_back(std::max(value, 1e-6));
  return Spread(out);
}

std::string number_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::time:
      return ms_text(value);
    case Quantity::bytes:
      return figure_text(value * 1e-6);
    case Quantity::share:
      return percent_text(value);
    default:
      return figure_text(value);
  }
}

std::string with_unit(Quantity quantity, double value) {
  const char* const unit = quantity == Quantity::time    ? " ms"
                           : quantity == Quantity::bytes ? " MB"
                           : quantity == Quantity::share ? " %"
                           : quantity == Quantity::rate  ? " samples/s"
                                                         : "";
  return number_text(quantity, value) + unit;
}

}  // namespace isobar
