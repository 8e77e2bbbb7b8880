// Which of two runs ends with the lower validation loss.
#include <fmt/format.h>

#include <cmath>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct TwoLosses {
  double base = 0, other = 0;
  std::string where;
};

/// The last of each, whatever it was trained on until then.
TwoLosses at_end(const NamedRun& base, const NamedRun& other) {
  for (const NamedRun* const run : {&base, &other}) {
    if (!run->view().summary.has_scores)
      throw Cannot{fmt::format("`{}` was never scored", run->name), run->name};
  }
  return {base.view().summary.valid_loss, other.view().summary.valid_loss, "at the end"};
}

TwoLosses at_samples(const NamedRun& base, const NamedRun& other) {
  const LossesCompared losses =
      compare_losses(base.view(), base.run->series, other.view(), other.run->series);
  if (!losses.at_samples)
    throw Cannot{fmt::format("`{}` and `{}` were not scored twice while they trained on the same samples",
                             base.name, other.name),
                 other.name};
  return {losses.at_samples->base, losses.at_samples->other,
          fmt::format("after {:.0f} samples", losses.at_samples->place)};
}

/// Losses that lie nearer than this are the same: sums in another order, or noise of the batches.
double band_of(const NamedRun& base, const NamedRun& other) {
  return std::max(kSmallestThatMatters,
                  parity_band(base.view().summary.precision, other.view().summary.precision));
}

}  // namespace

Truth loss_direction_truth(const RuleInput& input) {
  const auto [base, other] = ended_pair(input);
  const std::string at = input.argument("at", "samples");
  if (at != "samples" && at != "end")
    wrong_question(input, "loss_direction takes no at = \"" + at + "\"", "samples or end");
  const TwoLosses losses = at == "end" ? at_end(base, other) : at_samples(base, other);
  if (!std::isfinite(losses.base) || !(losses.base > 0))
    throw Cannot{fmt::format("the loss of `{}` is no number", base.name), base.name};
  const bool is_same = std::fabs(losses.other - losses.base) <= band_of(base, other) * losses.base;
  Truth out;
  out.accepted = {is_same ? "same" : losses.other < losses.base ? "down" : "up"};  // no number is up
  out.figures = {{"base_loss", fmt::format("{:.3g}", losses.base)},
                 {"other_loss", fmt::format("{:.3g}", losses.other)}};
  out.text =
      fmt::format("validation loss {}: {} in `{}`, {} in `{}`{}", losses.where, out.figures["base_loss"],
                  base.name, out.figures["other_loss"], other.name, is_same ? ": the same" : "");
  out.source = source_of(base);
  return out;
}

}  // namespace isobar
