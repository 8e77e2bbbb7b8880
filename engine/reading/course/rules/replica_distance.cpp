// How far apart the weights of replicas are, from the first report to the last.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "analyse/event_log.h"
#include "analyse/rank_stream.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

/// Distances that grow or shrink by less stay as they were: updates that are nearly equal move all replicas
/// alike.
constexpr double kStays = 1.5;

/// The largest distance of any rank by step.
struct Distances {
  std::map<std::int64_t, double> by_step;
  void take(const Event& event) {
    if (event.kind() != "note" || event.text("text") != "replicas") return;
    double& most = by_step[event.integer("step")];
    const double apart = event.number("apart");
    most = std::isfinite(apart) ? std::max(most, apart) : std::numeric_limits<double>::infinity();
  }
};

std::string word_of(double first, double last) {
  if (first == 0 && last == 0) return "zero";
  if (last > kStays * first) return "grows";
  return last < first / kStays ? "shrinks" : "stays";
}

Truth replica_distance_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  Distances distances;
  for (const int rank : ranks_in(run.run->folder))
    EventLog(RunFolder{run.run->folder}.stream_file(rank)).read_all(distances);
  if (distances.by_step.size() < 2)
    throw Cannot{fmt::format("`{}` reports fewer than twice how far its replicas are apart", run.name),
                 run.name};
  const double first = distances.by_step.begin()->second, last = distances.by_step.rbegin()->second;
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

}  // namespace

Rule replica_distance_rule() {
  static constexpr std::array kinds = {AnswerKind::choice};
  static constexpr std::array needs = {"run"};
  return {"replica_distance",
          "what the distance between replicas does: stays, grows, shrinks, zero",
          kinds,
          needs,
          {},
          answered<replica_distance_truth>};
}

}  // namespace isobar
