// How far apart the weights of replicas are, from the first report to the last.
#include <fmt/format.h>

#include <cmath>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Distances that grow or shrink by less stay as they were: updates that are nearly equal move all replicas
/// alike.
constexpr double kStays = 1.5;

std::string word_of(double first, double last) {
  if (first == 0 && last == 0) return "zero";
  if (last > kStays * first) return "grows";
  return last < first / kStays ? "shrinks" : "stays";
}

}  // namespace

Truth replica_distance_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const std::map<std::int64_t, double> distances = distances_between(run, "replicas");
  if (distances.size() < 2)
    throw Cannot{fmt::format("`{}` reports fewer than twice how far its replicas are apart", run.name),
                 run.name};
  const double first = distances.begin()->second, last = distances.rbegin()->second;
  if (!std::isfinite(first))
    throw Cannot{fmt::format("the weights of `{}` are no numbers from the start", run.name), run.name};
  Truth out;
  out.accepted = {word_of(first, last)};
  out.figures = {{"first", fmt::format("{:.3g}", first)}, {"last", fmt::format("{:.3g}", last)}};
  out.text = fmt::format("weights of two replicas are up to {} apart at first and {} at last",
                         out.figures["first"], out.figures["last"]);
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
