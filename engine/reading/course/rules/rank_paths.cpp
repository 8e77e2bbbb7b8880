// What the paths of several ranks (lesson 00) do beside each other, and beside that of one rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Sums in another order differ in their last digits, in double precision.
constexpr double kEqualPaths = 1e-12;
/// An offset that stays: updates are equal, and only rounding moves it.
constexpr double kOffsetStays = 1e-9;
/// Of the loss at the start: no path that comes down has it at the end.
constexpr double kLeavesAt = 10;

/// The largest distance of a rank from rank 0 before each step, and at the end.
std::vector<double> ranks_apart(const Descent& descent) {
  std::vector<double> out;
  for (std::size_t step = 0; step <= descent.steps(); ++step) {
    double most = 0;
    for (const RankDescent& rank : descent.ranks)
      most = std::max(most, path_distance({descent.ranks.front().before(step)}, {rank.before(step)}));
    out.push_back(most);
  }
  return out;
}

bool leaves(const Descent& descent) {
  const LossBowl bowl(descent.points);
  return std::any_of(descent.ranks.begin(), descent.ranks.end(), [&](const RankDescent& rank) {
    return !(bowl.loss(rank.before(descent.steps())) <= kLeavesAt * bowl.loss(rank.start));
  });
}

std::string paths_word(const Descent& ranks, const std::vector<double>& apart, double from_base) {
  if (leaves(ranks)) return "diverges";
  const auto [least, most] = std::minmax_element(apart.begin(), apart.end());
  if (*least > 0 && *most - *least <= kOffsetStays * *most) return "offset";
  if (*most > kEqualPaths) return "apart";
  return from_base <= kEqualPaths ? "same" : "other";
}

}  // namespace

Truth rank_paths_truth(const RuleInput& input) {
  const NamedRun base = ended_run(input, input.argument("base"));
  const NamedRun other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  const Descent one = descent_of(input, base), many = descent_of(input, other);
  if (one.ranks.size() != 1)
    throw Cannot{fmt::format("`{}` has {} ranks, one is needed", base.name, one.ranks.size()), base.name};
  if (many.ranks.size() < 2)
    throw Cannot{fmt::format("`{}` is no run of several ranks", other.name), other.name};
  if (one.steps() != many.steps())
    throw Cannot{
        fmt::format("`{}` made {}, `{}` {}", base.name,
                    counted(static_cast<std::int64_t>(one.steps()), "step"), other.name, many.steps()),
        other.name};
  const std::vector<double> apart = ranks_apart(many);
  const double from_base = path_distance(one.ranks.front().path(), many.ranks.front().path());
  const LossBowl bowl(many.points);
  const auto loss_text = [&](const Descent& descent) {
    return fmt::format("{:.3g}", bowl.loss(descent.ranks.front().before(descent.steps())));
  };
  const double most_apart = *std::max_element(apart.begin(), apart.end());
  Truth out;
  out.accepted = {paths_word(many, apart, from_base)};
  out.figures = {{"ranks", std::to_string(many.ranks.size())},
                 {"apart", fmt::format("{:.3g}", most_apart)},
                 {"apart_first", fmt::format("{:.3g}", apart.front())},
                 {"apart_last", fmt::format("{:.3g}", apart.back())},
                 {"from_one", fmt::format("{:.2g}", from_base)},
                 {"end_loss", loss_text(many)},
                 {"one_loss", loss_text(one)}};
  out.text = fmt::format("the ranks' paths are up to {} apart, and up to {} from that of one rank",
                         out.figures["apart"], out.figures["from_one"]);
  out.source = source_of(base);
  return out;
}

}  // namespace isobar
