// When training losses of two runs part.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Place, from 0, of the first training loss that lies farther from the other run's than a share `within`, of
/// those at equal steps; nothing where none does.
std::optional<std::size_t> first_unequal(const NamedRun& base, const NamedRun& other, double within) {
  const CurveRef one = base.run->series.find("train/loss"), two = other.run->series.find("train/loss");
  std::size_t place = 0;
  for (std::size_t i = 0; one && two && i < one.curve->y.size(); ++i) {
    const auto at = two.curve->at_row(one.curve->row(i));
    if (!at) continue;
    if (std::fabs(*at - one.curve->y[i]) > within * std::fabs(one.curve->y[i])) return place;
    ++place;
  }
  if (place < 2)
    throw Cannot{fmt::format("`{}` and `{}` have no two losses at the same steps", base.name, other.name),
                 other.name};
  return std::nullopt;
}

std::string end_loss_text(const NamedRun& run) { return fmt::format("{:.5g}", run.view().summary.last_loss); }

}  // namespace

Truth first_apart_truth(const RuleInput& input) {
  const auto [base, other] = ended_pair(input);
  const std::optional<std::size_t> place = first_unequal(base, other, number_argument(input, "within", 0));
  Truth out;
  out.accepted = {!place ? "never" : *place > 0 ? "later" : "first"};
  out.figures = {{"step", place ? std::to_string(*place + 1) : "none"},
                 {"base_loss", end_loss_text(base)},
                 {"other_loss", end_loss_text(other)}};
  out.text =
      !place ? fmt::format("no loss of `{}` and `{}` is apart", base.name, other.name)
             : fmt::format("losses of `{}` and `{}` part with value {}", base.name, other.name, *place + 1);
  out.source = source_of(base);
  return out;
}

void check_first_apart(const Question& question) { check_choice_keys(question, {"never", "later", "first"}); }

}  // namespace isobar
