// How far apart the weights of replicas are, from the first report to the last, and their buffers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analyse/event.h"
#include "analyse/run_files.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

/// Distances that grow or shrink by less stay as they were: updates that are nearly equal move all replicas
/// alike.
constexpr double kStays = 1.5;

/// The largest distance of any rank by step, from the notes with this text.
std::map<std::int64_t, double> distances_of(const NamedRun& run, std::string_view note) {
  std::map<std::int64_t, double> out;
  for (const int rank : ranks_in(run.run->folder)) {
    EventLog(RunFolder{run.run->folder}.stream_file(rank)).read_all([&](const Event& event) {
      if (event.kind() != "note" || event.text("text") != note) return;
      double& most = out[event.integer("step")];
      const double apart = event.number("apart");
      most = std::isfinite(apart) ? std::max(most, apart) : std::numeric_limits<double>::infinity();
    });
  }
  return out;
}

std::string distance_text(double apart) { return fmt::format("{:.3g}", apart); }

std::string word_of(double first, double last) {
  if (first == 0 && last == 0) return "zero";
  if (last > kStays * first) return "grows";
  return last < first / kStays ? "shrinks" : "stays";
}

}  // namespace

Truth replica_distance_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const std::map<std::int64_t, double> distances = distances_of(run, "replicas");
  if (distances.size() < 2)
    throw Cannot{fmt::format("`{}` reports fewer than twice how far its replicas are apart", run.name),
                 run.name};
  const double first = distances.begin()->second, last = distances.rbegin()->second;
  if (!std::isfinite(first))
    throw Cannot{fmt::format("the weights of `{}` are no numbers from the start", run.name), run.name};
  Truth out;
  out.accepted = {word_of(first, last)};
  out.figures = {{"first", distance_text(first)}, {"last", distance_text(last)}};
  out.text = fmt::format("weights of two replicas are up to {} apart at first and {} at last",
                         out.figures["first"], out.figures["last"]);
  out.source = source_of(run);
  return out;
}

/// A run that says nothing of buffers has none that change: masks and grids are the same for ever.
Truth buffers_apart_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  if (run.view().summary.world < 2) throw Cannot{"`" + run.name + "` is a run of one rank", run.name};
  const std::map<std::int64_t, double> distances = distances_of(run, "buffers");
  double most = 0;
  for (const auto& [step, apart] : distances) most = std::max(most, apart);
  const double last = distances.empty() ? 0 : distances.rbegin()->second;
  Truth out;
  out.accepted = {distances.empty() ? "constant" : most > 0 ? "apart" : "equal"};
  out.figures = {{"most", distance_text(most)}, {"last", distance_text(last)}};
  out.text = distances.empty() ? "the model owns no buffers that change in training"
                               : fmt::format("buffers of two ranks are up to {} apart, {} at the end",
                                             out.figures["most"], out.figures["last"]);
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
